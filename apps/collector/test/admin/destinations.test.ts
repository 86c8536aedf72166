import { describe, expect, it } from "vitest";
import { controlApi } from "./control-api.js";

async function withDestination(settings: object = { secret: "hush" }) {
  const api = await controlApi();
  const { body: source } = await api.ask("POST", "/api/v1/sources", { name: "Shop" });
  const made = await api.ask("POST", "/api/v1/destinations", {
    type: "scripted",
    sourceIds: [source.id],
    settings,
  });
  await api.clock.advance(0);
  return { api, source, made, destination: made.body, path: `/api/v1/destinations/${made.body.id}` };
}

const paid = { messageId: "m-1", type: "track", event: "Paid", userId: "1" };

describe("destinations", () => {
  it("makes one of a catalog type and never shows a secret", async () => {
    const { api, source, made, path } = await withDestination();
    await using _ = api;
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      type: "scripted",
      name: "Scripted",
      enabled: true,
      sourceIds: [source.id],
      settings: { isSecretSet: true },
      version: 1,
    });
    for (const answer of [made, await api.ask("GET", path), await api.ask("GET", "/api/v1/destinations")])
      expect(JSON.stringify(answer.body)).not.toContain("hush");
    const { body: audit } = await api.ask("GET", "/api/v1/audit");
    expect(JSON.stringify(audit)).not.toContain("hush");
  });

  it("lists the catalog", async () => {
    await using api = await controlApi();
    const { body } = await api.ask("GET", "/api/v1/catalog");
    expect(body.items).toMatchObject([{ type: "scripted", name: "Scripted", historical: true }]);
  });

  it("lays changed settings over those kept; null takes one out", async () => {
    const { api, path } = await withDestination({ secret: "hush", url: "a" });
    await using _ = api;
    const renamed = await api.ask("PATCH", path, { name: "Mine", settings: { url: "b" } });
    expect(renamed.body).toMatchObject({
      name: "Mine",
      settings: { url: "b", isSecretSet: true },
      version: 2,
    });
    const removed = await api.ask("PATCH", path, { settings: { secret: null } });
    expect(removed.body.settings).toEqual({ url: "b", isSecretSet: false });
  });

  it("refuses a version that is not there any more", async () => {
    const { api, path } = await withDestination();
    await using _ = api;
    await api.ask("PATCH", path, { name: "A" });
    expect((await api.ask("PATCH", path, { name: "B" }, { headers: { "if-match": '"1"' } })).status).toBe(
      412,
    );
    expect((await api.ask("PATCH", path, { name: "B", version: 1 })).status).toBe(409);
  });

  it.each([
    ["an unknown type", { type: "fax" }, "type"],
    ["an unknown source", { type: "scripted", sourceIds: ["src_none"] }, "sourceIds[0]"],
    ["settings that the type refuses", { type: "scripted", settings: { secret: "" } }, "settings.secret"],
    ["a filter without action", { type: "scripted", filters: [{}] }, "filters[0].action"],
  ])("refuses %s and names it", async (_name, body, path) => {
    await using api = await controlApi();
    const answer = await api.ask("POST", "/api/v1/destinations", body);
    expect(answer.status).toBe(400);
    expect(answer.body.issues[0].path).toBe(path);
  });

  it("sends a test message through the real path", async () => {
    const { api, path } = await withDestination();
    await using _ = api;
    const sent = await api.ask("POST", `${path}/test`, {});
    expect(sent.body).toMatchObject({ state: "delivered", reason: "200", attempts: [{ url: "scripted:" }] });
    expect(api.destination.delivered[0]?.message.event).toBe("Test Event");
    expect((await api.ask("GET", `${path}/test`)).body).toEqual({ last: sent.body });
    expect((await api.ask("GET", "/api/v1/destinations/dst_none/test")).status).toBe(404);
    expect((await api.ask("POST", "/api/v1/destinations/dst_none/test")).status).toBe(404);
  });

  it("gives a second destination without a name another name, and the audit log keeps the name of a deleted one", async () => {
    const { api, destination, path } = await withDestination();
    await using _ = api;
    const input = { type: destination.type };
    const names: string[] = [];
    for (let made = 0; made < 2; made++)
      names.push((await api.ask("POST", "/api/v1/destinations", input)).body.name);
    expect(new Set([destination.name, ...names]).size).toBe(3);
    await api.ask("PATCH", path, { name: "Renamed" });
    await api.ask("POST", "/api/v1/replays", { filter: { destinationId: destination.id }, dryRun: true });
    await api.ask("DELETE", path);
    const { items } = (await api.ask("GET", "/api/v1/audit?limit=2")).body;
    expect(items).toMatchObject([
      { action: "destinations.delete", target: destination.id, targetName: "Renamed" },
      { action: "destinations.patch", target: destination.id, targetName: destination.name },
    ]);
  });

  it("tells how it does", async () => {
    const { api, source, destination, path } = await withDestination();
    await using _ = api;
    expect((await api.ask("GET", `${path}/status`)).body).toEqual({
      destinationId: destination.id,
      state: "delivering",
      health: "idle",
      reason: "It has no delivery yet",
      urls: [],
      behind: 0,
      retries: 0,
      waiting: 0,
    });
    await api.receive(source.id, [paid]);
    await api.clock.advance(1_000);
    expect((await api.ask("GET", `${path}/status`)).body).toMatchObject({
      health: "good",
      behind: 0,
      waiting: 0,
    });
    await api.ask("PATCH", path, { enabled: false });
    await api.clock.advance(10);
    await api.receive(source.id, [{ ...paid, messageId: "m-2" }]);
    // What is behind a disabled destination is skipped, not waited for.
    const disabled = { state: "disabled", behind: 1, retries: 0, waiting: 0 };
    expect((await api.ask("GET", `${path}/status`)).body).toMatchObject(disabled);
  });

  it("counts exactly what waits for one that is down, not what other sources sent", async () => {
    const { api, source, path } = await withDestination();
    await using _ = api;
    const { body: other } = await api.ask("POST", "/api/v1/sources", { name: "Other" });
    api.destination.outcome = { kind: "retry", reason: "503", doneUrls: [], failedUrls: [], alive: false };
    const send = (sourceId: string, first: number, count: number) =>
      api.receive(
        sourceId,
        Array.from({ length: count }, (_, n) => ({ ...paid, messageId: `m-${first + n}` })),
      );
    await send(source.id, 0, 12);
    await api.clock.advance(1_000);
    await send(other.id, 12, 500);
    await send(source.id, 512, 40);
    await api.clock.advance(100);
    expect((await api.ask("GET", `${path}/status`)).body).toMatchObject({
      state: "backing_off",
      waiting: 52,
    });
    await api.clock.advance(30_000);
    expect((await api.ask("GET", `${path}/status`)).body).toMatchObject({
      state: "backing_off",
      waiting: 52,
    });
  });

  it.each([
    { backlog: "send", delivered: 15 },
    { backlog: "skip", delivered: 0 },
  ])("says what waits for a disabled one, and $backlog applies to it", async ({ backlog, delivered }) => {
    const { api, source, path } = await withDestination();
    await using _ = api;
    const waiting = async () => (await api.ask("GET", `${path}/status`)).body.waiting;
    const receive = (first: number, count: number) =>
      api.receive(
        source.id,
        Array.from({ length: count }, (_, n) => ({ ...paid, messageId: `m-${first + n}` })),
      );
    api.destination.outcome = { kind: "retry", reason: "503", doneUrls: [], failedUrls: [], alive: false };
    await receive(0, 15);
    await api.clock.advance(1_000);
    await api.ask("PATCH", path, { enabled: false });
    await api.clock.advance(100);
    await receive(15, 2);
    expect(await waiting()).toBe(15);
    api.destination.delivered.length = 0;
    api.destination.outcome = { kind: "delivered", reason: "200" };
    expect((await api.ask("PATCH", path, { enabled: true, backlog })).status).toBe(200);
    await api.clock.advance(4 * 3_600_000);
    expect(await waiting()).toBe(0);
    expect(api.destination.delivered).toHaveLength(delivered);
    // It is enabled now, so nothing waits for that.
    expect(await api.ask("PATCH", path, { enabled: true, backlog: "skip" })).toMatchObject({
      status: 400,
      body: { issues: [{ path: "backlog", code: "not_disabled" }] },
    });
  });

  it("deletes one; its source's deletion disconnects the others", async () => {
    const { api, source, path } = await withDestination();
    await using _ = api;
    await api.ask("DELETE", `/api/v1/sources/${source.id}`);
    expect((await api.ask("GET", path)).body.sourceIds).toEqual([]);
    expect((await api.ask("DELETE", path)).status).toBe(204);
    expect((await api.ask("GET", path)).status).toBe(404);
    expect((await api.ask("DELETE", path)).status).toBe(404);
  });
});

describe("what becomes of a message", () => {
  it("is pending until the destination comes to it, then delivered, with its attempts", async () => {
    const { api, source, destination } = await withDestination();
    await using _ = api;
    await api.ask("PATCH", `/api/v1/destinations/${destination.id}`, { enabled: true });
    await api.receive(source.id, [paid]);
    await api.clock.advance(1_000);
    const { body } = await api.ask("GET", "/api/v1/messages/m-1");
    expect(body.outcomes).toMatchObject([
      { destinationId: destination.id, state: "delivered", attempts: [{ attempt: 1, status: 200 }] },
    ]);
    const { body: found } = await api.ask("GET", "/api/v1/messages?q=outcome:delivered");
    expect(found.items).toHaveLength(1);
    const { body: delivery } = await api.ask("GET", `/api/v1/deliveries/${body.outcomes[0].id}`);
    expect(delivery).toMatchObject({ messageId: "m-1", sourceId: source.id, state: "delivered" });
  });

  it("shows a destination that has not come to it yet as pending", async () => {
    const { api, source, destination } = await withDestination();
    await using _ = api;
    await api.delivery.close(0);
    await api.receive(source.id, [paid]);
    const { body } = await api.ask("GET", "/api/v1/messages/m-1");
    expect(body.outcomes).toMatchObject([{ destinationId: destination.id, state: "pending" }]);
  });

  it("a failed one is listed, retried, and delivered under the same id", async () => {
    const { api, source, destination } = await withDestination();
    await using _ = api;
    api.destination.outcome = { kind: "failed", reason: "404" };
    await api.receive(source.id, [paid]);
    await api.clock.advance(1_000);
    const { body: failed } = await api.ask(
      "GET",
      `/api/v1/deliveries?destinationId=${destination.id}&state=failed`,
    );
    expect(failed.items).toMatchObject([
      { messageId: "m-1", sourceId: source.id, state: "failed", reason: "404" },
    ]);
    api.destination.outcome = { kind: "delivered", reason: "200" };
    const retried = await api.ask("POST", `/api/v1/deliveries/${failed.items[0].id}/retry`, {});
    expect(retried.status).toBe(202);
    await api.clock.advance(1_000);
    expect((await api.ask("GET", `/api/v1/deliveries/${failed.items[0].id}`)).body.state).toBe("delivered");
    expect(api.destination.delivered.map(({ messageId }) => messageId)).toEqual(["m-1", "m-1"]);
    expect((await api.ask("POST", "/api/v1/deliveries/none/retry")).status).toBe(404);
  });

  it("of a message that a destination has not come to yet there is no delivery, and the answer says why", async () => {
    const { api, source, destination } = await withDestination();
    await using _ = api;
    await api.ask("PATCH", `/api/v1/destinations/${destination.id}`, { enabled: false });
    await api.receive(source.id, [paid]);
    const { body } = await api.ask("GET", "/api/v1/messages/m-1");
    const [waiting] = body.outcomes;
    expect(waiting).toMatchObject({ state: "skipped" });
    expect(await api.ask("POST", `/api/v1/deliveries/${waiting.id}/retry`)).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining("its destination has not read the message yet") },
    });
  });

  it("a replay counts first, then sends what it counted", async () => {
    const { api, source, destination } = await withDestination();
    await using _ = api;
    await api.receive(source.id, [paid, { ...paid, messageId: "m-2", event: "Viewed" }]);
    await api.clock.advance(1_000);
    const filter = { destinationId: destination.id, event: "Paid" };
    const counted = await api.ask("POST", "/api/v1/replays", { filter, dryRun: true });
    expect(counted.body).toEqual({ count: 1 });
    await api.clock.advance(1_000);
    expect(api.destination.delivered).toHaveLength(2);
    const replayed = await api.ask("POST", "/api/v1/replays", { filter });
    expect(replayed.body).toMatchObject({ id: expect.stringMatching(/^rpl_/), count: 1 });
    await api.clock.advance(1_000);
    expect(api.destination.delivered.map(({ messageId }) => messageId)).toEqual(["m-1", "m-2", "m-1"]);
    const nowhere = { filter: { destinationId: "dst_none" } };
    expect((await api.ask("POST", "/api/v1/replays", nowhere)).status).toBe(404);
    const underWay = { filter: { ...filter, state: "pending" } };
    expect(await api.ask("POST", "/api/v1/replays", underWay)).toMatchObject({
      status: 400,
      body: {
        message:
          "invalid_request: filter.state: Expected one of delivered, failed, filtered, skipped, suppressed, discarded",
      },
    });
  });
});

describe("waiting for a message", () => {
  it("resolves when it is in that state", async () => {
    const { api, source } = await withDestination();
    await using _ = api;
    const waiting = api.ask("GET", "/api/v1/wait?messageId=m-1&state=delivered&timeout=5s");
    await api.clock.advance(10);
    await api.receive(source.id, [paid]);
    await api.clock.advance(1_000);
    expect(await waiting).toMatchObject({ status: 200, body: { messageId: "m-1" } });
  });

  it("gives up at its time, and says how far it came", async () => {
    const { api, source } = await withDestination();
    await using _ = api;
    api.destination.outcome = { kind: "retry", reason: "503", doneUrls: [], failedUrls: [], alive: false };
    await api.receive(source.id, [paid]);
    const waiting = api.ask("GET", "/api/v1/wait?messageId=m-1&state=delivered&timeoutMs=500");
    await api.clock.advance(600);
    expect(await waiting).toMatchObject({
      status: 408,
      body: { code: "wait_timed_out", now: { outcomes: [{ state: "pending", reason: "503" }] } },
    });
  });

  it("ends at once when it failed for good, and says why", async () => {
    const { api, source } = await withDestination();
    await using _ = api;
    api.destination.outcome = { kind: "failed", reason: "404" };
    await api.receive(source.id, [paid]);
    const waiting = api.ask("GET", "/api/v1/wait?messageId=m-1&state=delivered&timeoutMs=600000");
    await api.clock.advance(300);
    expect(await waiting).toMatchObject({
      status: 409,
      body: {
        code: "wait_impossible",
        message: expect.stringContaining("(404)"),
        now: { outcomes: [{ state: "failed" }] },
      },
    });
  });

  it("does not wait for a message that no destination gets", async () => {
    await using api = await controlApi();
    const { body: source } = await api.ask("POST", "/api/v1/sources", { name: "Alone" });
    await api.receive(source.id, [paid]);
    const answer = await api.ask("GET", "/api/v1/wait?messageId=m-1&state=delivered&timeoutMs=600000");
    expect(answer).toMatchObject({
      status: 409,
      body: {
        code: "wait_impossible",
        message:
          "wait_impossible: m-1 will not be delivered: no destination was connected to its source when it arrived",
      },
    });
  });

  it("leaves nothing behind when the client goes away", async () => {
    const { api } = await withDestination();
    await using _ = api;
    const gone = new AbortController();
    const waiting = api.ask("GET", "/api/v1/wait?messageId=none", undefined, { signal: gone.signal });
    await api.clock.advance(10);
    gone.abort();
    expect((await waiting).status).toBe(408);
    expect(api.live.watched).toBe(false);
  });
});
