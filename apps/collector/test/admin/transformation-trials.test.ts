import { describe, expect, it } from "vitest";
import { type ControlApi, controlApi } from "./control-api.js";

const TEST = "/api/v1/transformations/test";
const DRY_RUN = "/api/v1/transformations/dry-run";

/** Renames "Old", drops "Bot", fails on "Bad", and leaves everything else as it is. */
const CODE = `interface Message { event?: string }
export default function transform(message: Message, { log }: { log: { info(text: string): void } }) {
  if (message.event === "Old") return { ...message, event: "New" };
  if (message.event === "Bot") return null;
  if (message.event === "Bad") throw new TypeError("no such plan");
  log.info("seen");
  return message;
}
`;

async function withMessages(events: readonly string[] = ["Same", "Old", "Bot", "Bad"]) {
  const api = await controlApi();
  const { body: source } = await api.ask("POST", "/api/v1/sources", { name: "Shop" });
  await api.receive(
    source.id,
    events.map((event, index) => ({ messageId: `m-${index}`, type: "track", event, userId: "ann" })),
  );
  return { api, source };
}

const stored = async (api: ControlApi) => ({
  messages: (await api.store.log.find({}, { limit: 500 })).items.length,
  audit: await api.store.config.list("audit"),
});

describe("a test", () => {
  it("shows what code does with stored messages, and changes nothing", async () => {
    const { api } = await withMessages();
    await using _ = api;
    const before = await stored(api);
    const { body, status } = await api.ask("POST", TEST, {
      code: CODE,
      messageIds: ["m-0", "m-1", "m-2", "m-3"],
    });
    expect(status).toBe(200);
    expect(body.results).toMatchObject([
      { messageId: "m-0", result: "same", logs: [{ level: "info", text: "seen" }] },
      { messageId: "m-1", result: "changed", before: { event: "Old" }, after: [{ event: "New" }] },
      { messageId: "m-2", result: "dropped" },
      { messageId: "m-3", result: "failed", error: { code: "exception", line: 5 } },
    ]);
    expect(body.results[3].error.message).toContain("no such plan");
    expect(body.results[2]).not.toHaveProperty("after");
    // Everything but the event is as it was.
    const [, changed] = body.results;
    expect(changed.after[0]).toEqual({ ...changed.before, event: "New" });
    expect(changed.before).toMatchObject({ messageId: "m-1", receivedAt: expect.any(String) });
    expect(await stored(api)).toEqual(before);
  });

  it("takes the newest messages, of a source or of all, and pasted ones", async () => {
    const { api, source } = await withMessages(["Same", "Old"]);
    await using _ = api;
    const { body: other } = await api.ask("POST", "/api/v1/sources", { name: "Other" });
    await api.receive(other.id, [{ messageId: "o-1", type: "page", userId: "bob" }]);
    const ids = async (body: object) =>
      (await api.ask("POST", TEST, { code: CODE, ...body })).body.results.map(
        (one: { messageId: string }) => one.messageId,
      );
    expect(await ids({ newest: { count: 2 } })).toEqual(["o-1", "m-1"]);
    expect(await ids({ newest: { count: 5, sourceId: source.id } })).toEqual(["m-1", "m-0"]);
    expect(await ids({ messages: [{ event: "Old", messageId: "mine" }, {}] })).toEqual(["mine", "test-2"]);
    expect(await ids({})).toEqual([]);
  });

  it("shows several results with their ids", async () => {
    const { api } = await withMessages(["Same"]);
    await using _ = api;
    const code = 'export default (m) => [m, { ...m, event: "Also" }];';
    const { body } = await api.ask("POST", TEST, { code, messageIds: ["m-0"] });
    expect(body.results[0]).toMatchObject({
      result: "changed",
      after: [
        { messageId: "m-0.1", event: "Same" },
        { messageId: "m-0.2", event: "Also" },
      ],
    });
  });

  it("is refused when its results are too large to show", async () => {
    const { api } = await withMessages();
    await using _ = api;
    const code =
      'export default (m) => Array.from({ length: 10 }, () => ({ ...m, more: "x".repeat(30_000) }));';
    const messages = Array.from({ length: 100 }, () => ({ event: "Same" }));
    const { status, body } = await api.ask("POST", TEST, { code, messages });
    expect([status, body.code]).toEqual([413, "payload_too_large"]);
    expect(body.message).toContain("try it on fewer messages");
  });

  it("says where code cannot run at all", async () => {
    const { api } = await withMessages();
    await using _ = api;
    const { body } = await api.ask("POST", TEST, {
      code: "export default function (m) {\n  return m +;\n}\n",
      messageIds: ["m-0"],
    });
    expect(body).toMatchObject({ error: { line: 2, message: expect.any(String) }, results: [] });
  });

  it("gives the code the secrets of a transformation, and masks them in what it shows", async () => {
    const { api } = await withMessages();
    await using _ = api;
    const code =
      'export default (m, { secrets, log }) => { log.info(secrets.KEY); return { ...m, event: "k:" + secrets.KEY }; };';
    const { body: made } = await api.ask("POST", "/api/v1/transformations", {
      name: "Key",
      code,
      secrets: { KEY: "hush-hush" },
    });
    const { body } = await api.ask("POST", TEST, { id: made.id, messageIds: ["m-0"] });
    expect(body.results[0]).toMatchObject({
      after: [{ event: "k:[secret KEY]" }],
      logs: [{ text: "[secret KEY]" }],
    });
    const thrown = await api.ask("POST", TEST, {
      id: made.id,
      code: "export default (m, { secrets }) => { throw new Error(secrets.KEY); };",
      messageIds: ["m-0"],
    });
    expect(thrown.body.results[0].result).toBe("failed");
    expect(JSON.stringify([body, thrown.body])).not.toContain("hush");
    // A new value is used at once.
    await api.ask("PATCH", `/api/v1/transformations/${made.id}`, { secrets: { KEY: "abc" } });
    const again = await api.ask("POST", TEST, { id: made.id, messageIds: ["m-0"] });
    expect(again.body.results[0].after[0].event).toBe("k:abc");
  });

  it("leaves out of several messages those that are gone, and deletions", async () => {
    const { api, source } = await withMessages(["Old"]);
    await using _ = api;
    await api.receive(source.id, [{ messageId: "del", type: "delete", userId: "ann" }]);
    const ask = (...messageIds: string[]) => api.ask("POST", TEST, { code: CODE, messageIds });
    const { body } = await ask("m-0", "gone", "del");
    expect(body.results).toMatchObject([{ messageId: "m-0", result: "changed" }]);
    const alone = await ask("del");
    expect([alone.status, alone.body.message]).toEqual([400, expect.stringContaining("of type delete")]);
  });

  it.each([
    ["without code or id", {}, 400, "code: give code"],
    ["with a transformation that does not exist", { id: "tr_none" }, 404, "tr_none"],
    ["with a message that is not stored", { code: CODE, messageIds: ["none"] }, 404, "none"],
    ["with more than 100 messages", { code: CODE, newest: { count: 101 } }, 400, "newest.count"],
  ])("is refused %s", async (_name, body, status, message) => {
    await using api = await controlApi();
    const answer = await api.ask("POST", TEST, body);
    expect(answer.status).toBe(status);
    expect(answer.body.message).toContain(message);
  });

  it("needs a token with full access", async () => {
    const { api } = await withMessages();
    await using _ = api;
    const { token } = (await api.ask("POST", "/api/v1/tokens", { name: "wall", access: "read" })).body;
    for (const path of [TEST, DRY_RUN])
      expect((await api.ask("POST", path, { code: CODE }, { token })).status).toBe(403);
  });
});

describe("code that cannot run", () => {
  it.each([
    ["a syntax error", "export default function (m) {\n  return m +;\n}", "code: line 2, column"],
    ["types that are not closed", "export default (m: { a: string) => m;", "code: line 1, column"],
    ["no function", "const a = 1;", "code: There is no default export"],
  ])("is not saved: %s", async (_name, code, message) => {
    await using api = await controlApi();
    const refused = await api.ask("POST", "/api/v1/transformations", { name: "Broken", code });
    expect(refused).toMatchObject({
      status: 400,
      body: { code: "invalid_request", issues: [{ path: "code" }] },
    });
    expect(refused.body.message).toContain(message);
    const { body: made } = await api.ask("POST", "/api/v1/transformations", { name: "Good", code: CODE });
    const path = `/api/v1/transformations/${made.id}`;
    expect((await api.ask("PATCH", path, { code })).status).toBe(400);
    expect((await api.ask("GET", path)).body).toMatchObject({ code: CODE, newest: 1 });
  });
});

describe("a dry run", () => {
  it("counts the newest messages, groups failures by cause and shows examples", async () => {
    const events = Array.from(
      { length: 450 },
      (_, index) => ["Same", "Old", "Bot", "Bad", "Same"][index % 5] ?? "",
    );
    const { api } = await withMessages(events);
    await using _ = api;
    const before = await stored(api);
    const { body } = await api.ask("POST", DRY_RUN, { code: CODE, messages: 400 });
    expect(body).toMatchObject({ messages: 400, same: 160, changed: 80, dropped: 80, failed: 80 });
    expect(body.causes).toMatchObject([
      { code: "exception", line: 5, count: 80, messageIds: ["m-448", "m-443", "m-438", "m-433", "m-428"] },
    ]);
    expect(body.examples.map((one: { messageId: string }) => one.messageId)).toEqual([
      "m-448",
      "m-447",
      "m-446",
      "m-443",
      "m-442",
    ]);
    expect(await stored(api)).toEqual(before);
  });

  it("gives code of a destination what the source's transformation leaves, and that of the source what was stored", async () => {
    const { api, source } = await withMessages(["Same", "Old", "Bot", "Bad"]);
    await using _ = api;
    const { body: saved } = await api.ask("POST", "/api/v1/transformations", { name: "First", code: CODE });
    const { id: transformationId } = saved;
    await api.ask("PATCH", `/api/v1/sources/${source.id}`, { transformationId });
    const { body: destination } = await api.ask("POST", "/api/v1/destinations", {
      type: "scripted",
      sourceIds: [source.id],
    });
    const code = "export default (m) => (m.event === 'New' ? { ...m, event: 'Newer' } : m)";
    const own = { code, destinationId: destination.id };
    const { body } = await api.ask("POST", DRY_RUN, own);
    expect(body).toMatchObject({ messages: 2, same: 1, changed: 1, dropped: 0, failed: 0 });
    expect(body.examples).toMatchObject([{ before: { event: "New" }, after: [{ event: "Newer" }] }]);
    const first = await api.ask("POST", DRY_RUN, { id: transformationId, destinationId: destination.id });
    expect(first.body).toMatchObject({ messages: 4, same: 1, changed: 1, dropped: 1, failed: 1 });
  });

  it("sends what the source's own code leaves through that of the destination, as a delivery would", async () => {
    const { api, source } = await withMessages(["Same", "Old", "Last"]);
    await using _ = api;
    const made = async (name: string, code: string, secrets = {}) =>
      (await api.ask("POST", "/api/v1/transformations", { name, code, secrets })).body.id as string;
    const id = await made("First", "export default (m) => m");
    const behind = `export default (m, { secrets, log }) => {
      log.info("behind");
      if (m.event === "Seen") throw new Error("unknown: " + m.event);
      if (m.event === "New") return { ...m, event: secrets.NAME };
      return m.event === "Last" ? null : m;
    }`;
    const transformationId = await made("Second", behind, { NAME: "hush-hush" });
    await api.ask("PATCH", `/api/v1/sources/${source.id}`, { transformationId: id });
    const { body: destination } = await api.ask("POST", "/api/v1/destinations", {
      ...{ type: "scripted", sourceIds: [source.id], transformationId },
    });
    const code = `${CODE}// as typed`;
    const dry = await api.ask("POST", DRY_RUN, { id, code, destinationId: destination.id });
    expect(dry.body).toMatchObject({ messages: 3, same: 1, changed: 1, dropped: 1, failed: 0 });
    expect(dry.body.examples).toMatchObject([
      { before: { event: "Last" }, result: "dropped" },
      { before: { event: "Old" }, after: [{ event: "[secret NAME]" }], logs: [] },
    ]);
    const failing = CODE.replace('"New"', '"Seen"');
    const on = { messageIds: ["m-1"], messages: [{ event: "Old" }], destinationId: destination.id };
    const tested = await api.ask("POST", TEST, { id, code: failing, ...on });
    const message = "Second, which runs behind it: Error: unknown: Seen";
    const failed = { result: "failed", error: { code: "exception", message } };
    expect(tested.body.results).toMatchObject([failed, failed]);
    expect(tested.body.results[0].error).not.toHaveProperty("line");
  });

  it("takes only what a destination gets, after its filters", async () => {
    const { api, source } = await withMessages(["Old", "Secret", "Old", "Same"]);
    await using _ = api;
    const { body: other } = await api.ask("POST", "/api/v1/sources", { name: "Other" });
    await api.receive(other.id, [{ messageId: "o-1", type: "track", event: "Old", userId: "bob" }]);
    const { body: destination } = await api.ask("POST", "/api/v1/destinations", {
      type: "scripted",
      sourceIds: [source.id],
      filters: [
        { events: ["Secret"], action: { kind: "drop" } },
        { action: { kind: "remove", paths: ["userId"] } },
      ],
    });
    const { body } = await api.ask("POST", DRY_RUN, { code: CODE, destinationId: destination.id });
    expect(body).toMatchObject({ messages: 3, same: 1, changed: 2 });
    expect(body.examples[0].before).not.toHaveProperty("userId");
    const all = await api.ask("POST", DRY_RUN, { code: CODE, sourceId: other.id });
    expect(all.body).toMatchObject({ messages: 1, changed: 1 });
    expect((await api.ask("POST", DRY_RUN, { code: CODE, destinationId: "dst_none" })).status).toBe(404);
  });

  it("does not show messages of a user who was deleted", async () => {
    const { api, source } = await withMessages(["Old"]);
    await using _ = api;
    await api.receive(source.id, [{ messageId: "b-1", type: "track", event: "Old", userId: "bob" }]);
    await api.store.purge({ userId: "ann" });
    const { body } = await api.ask("POST", DRY_RUN, { code: CODE });
    expect(body).toMatchObject({ messages: 1, examples: [{ messageId: "b-1" }] });
    const tested = await api.ask("POST", TEST, { code: CODE, newest: { count: 10 } });
    expect(JSON.stringify(tested.body)).not.toContain("ann");
  });

  it("says where code cannot run at all", async () => {
    const { api } = await withMessages();
    await using _ = api;
    const { body } = await api.ask("POST", DRY_RUN, { code: "export default (" });
    expect(body).toMatchObject({ error: { line: 1 }, messages: 0, causes: [], examples: [] });
  });

  it("ends an endless loop, and names the cause", async () => {
    const { api } = await withMessages(["Same"]);
    await using _ = api;
    const { body } = await api.ask("POST", DRY_RUN, { code: "export default () => { for (;;); };" });
    expect(body).toMatchObject({ messages: 1, failed: 1, causes: [{ code: "timeout" }] });
  });
});

describe("a trial", () => {
  it("ends when the client goes, or its token is revoked", async () => {
    const { api } = await withMessages(Array.from({ length: 300 }, () => "Same"));
    await using _ = api;
    const { body: made } = await api.ask("POST", "/api/v1/tokens", { name: "short-lived" });
    const running = api.ask("POST", DRY_RUN, { code: CODE }, { token: made.token });
    await api.ask("DELETE", `/api/v1/tokens/${made.id}`);
    expect((await running).status).toBe(401);
    const signal = AbortSignal.abort();
    const gone = await api.ask("POST", TEST, { code: CODE, newest: { count: 1 } }, { signal });
    expect(gone.status).toBe(408);
    // The next one has its turn.
    expect((await api.ask("POST", DRY_RUN, { code: CODE })).body.messages).toBe(300);
  });
});
