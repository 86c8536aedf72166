import { describe, expect, it, vi } from "vitest";
import { controlApi } from "./control-api.js";

const signedUp = {
  messageId: "m-1",
  type: "track",
  event: "Signed Up",
  userId: "42",
  properties: { plan: "pro" },
};
const identified = { messageId: "m-2", type: "identify", userId: "42", traits: { name: "Ann" } };
const paid = { messageId: "m-3", type: "track", event: "Paid", userId: "43" };

async function withMessages() {
  const api = await controlApi();
  await api.receive("src_a", [signedUp, identified]);
  await api.clock.advance(60_000);
  await api.receive("src_b", [paid]);
  return api;
}

function ids(answer: { body: { items: { messageId: string }[] } }): string[] {
  return answer.body.items.map((item) => item.messageId);
}

describe("messages", () => {
  it.each([
    ["everything, newest first", "", ["m-3", "m-2", "m-1"]],
    ["by id", "messageId=m-1", ["m-1"]],
    ["by user", "userId=42", ["m-2", "m-1"]],
    ["by type", "type=identify", ["m-2"]],
    ["by event", "event=Signed%20Up", ["m-1"]],
    ["by source", "sourceId=src_b", ["m-3"]],
    ["by time", "from=2026-01-01T00:00:30Z", ["m-3"]],
    ["until a time", "to=2026-01-01T00:00:30Z", ["m-2", "m-1"]],
    ["by text", "q=ann", ["m-2"]],
    ["by a filter", `q=${encodeURIComponent('type:track event:"Signed Up" user:42')}`, ["m-1"]],
    ["by either of two", `q=${encodeURIComponent("event:Paid event:Sign*")}`, ["m-3", "m-1"]],
    ["by a property", "q=properties.plan:pro", ["m-1"]],
    ["by not", "q=-type:track", ["m-2"]],
    ["by an outcome that none has", "q=outcome:failed", []],
  ])("finds %s", async (_name, query, expected) => {
    await using api = await withMessages();
    expect(ids(await api.ask("GET", `/api/v1/messages?${query}`))).toEqual(expected);
  });

  it("reads outcomes only of messages that a filter may show", async () => {
    await using api = await withMessages();
    const read = vi.spyOn(api.store.consumers, "outcomesOf");
    const query = `q=${encodeURIComponent("user:43 user:44")}`;
    expect(ids(await api.ask("GET", `/api/v1/messages?${query}`))).toEqual(["m-3"]);
    expect(read).toHaveBeenCalledTimes(1);
  });

  it("notes a timestamp that is none on the message, and on no other", async () => {
    await using api = await controlApi();
    await api.receive("src_a", [signedUp, { ...paid, timestamp: "yesterday" }]);
    const odd = await api.ask("GET", "/api/v1/messages/m-3");
    expect(odd.body).toMatchObject({
      state: "accepted",
      issues: [{ code: "timestamp_unparseable", path: "timestamp" }],
    });
    expect((await api.ask("GET", "/api/v1/messages/m-1")).body).not.toHaveProperty("issues");
  });

  it("refuses a filter of thousands of terms, and says how many there may be", async () => {
    await using api = await withMessages();
    const query = `q=${encodeURIComponent("ab ".repeat(600))}`;
    const answer = await api.ask("GET", `/api/v1/messages?${query}`);
    expect(answer).toMatchObject({ status: 400, body: { code: "invalid_request", at: 150 } });
    expect(answer.body.message).toContain("50 terms");
  });

  it("pages", async () => {
    await using api = await withMessages();
    const first = await api.ask("GET", "/api/v1/messages?limit=2");
    expect(ids(first)).toEqual(["m-3", "m-2"]);
    const second = await api.ask("GET", `/api/v1/messages?limit=2&cursor=${first.body.nextCursor}`);
    expect(ids(second)).toEqual(["m-1"]);
    expect(second.body).not.toHaveProperty("nextCursor");
  });

  it("fills a page although few match", async () => {
    await using api = await controlApi();
    await api.receive(
      "src_a",
      Array.from({ length: 100 }, (_, i) => ({
        messageId: `m-${i}`,
        type: "track",
        event: i % 50 === 0 ? "Rare" : "Common",
        userId: "1",
      })),
    );
    expect(ids(await api.ask("GET", "/api/v1/messages?q=-event:Common&limit=2"))).toEqual(["m-50", "m-0"]);
  });

  it("says where a filter goes wrong", async () => {
    await using api = await withMessages();
    const answer = await api.ask("GET", `/api/v1/messages?q=${encodeURIComponent("type:track colour:red")}`);
    expect(answer.status).toBe(400);
    expect(answer.body.at).toBe(11);
    expect((await api.ask("GET", "/api/v1/messages?from=yesterday")).status).toBe(400);
  });

  it("shows one with what it carried", async () => {
    await using api = await withMessages();
    const { body } = await api.ask("GET", "/api/v1/messages/m-1");
    expect(body).toEqual({
      messageId: "m-1",
      sourceId: "src_a",
      receivedAt: "2026-01-01T00:00:00.000Z",
      state: "accepted",
      message: signedUp,
      outcomes: [],
    });
    expect((await api.ask("GET", "/api/v1/messages/none")).status).toBe(404);
  });

  it("tells apart the same id of two sources", async () => {
    await using api = await withMessages();
    await api.receive("src_b", [signedUp]);
    const at = async (query: string) => (await api.ask("GET", `/api/v1/messages/m-1${query}`)).body.sourceId;
    expect(await at("?sourceId=src_a")).toBe("src_a");
    expect(await at("?sourceId=src_b")).toBe("src_b");
    expect(await at("")).toBe("src_b");
    expect((await api.ask("GET", "/api/v1/messages/m-1?sourceId=src_c")).status).toBe(404);
  });

  it("finds a refused one in the same way, with its issues", async () => {
    await using api = await controlApi();
    const issues = [{ code: "event_not_defined", path: "event", message: "`event` is required" }];
    api.store.rejections.add([
      { sourceId: "src_a", receivedAtMs: api.clock.now(), messageId: "bad", issues, excerpt: "{}" },
    ]);
    const { body } = await api.ask("GET", "/api/v1/messages/bad");
    expect(body).toMatchObject({ messageId: "bad", state: "rejected", issues });
    expect((await api.ask("GET", "/api/v1/rejected-messages")).body.items).toEqual([body]);
  });
});
