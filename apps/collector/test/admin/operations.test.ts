import { expect, it } from "vitest";
import { type ControlApi, controlApi } from "./control-api.js";

async function withFailures(api: ControlApi) {
  const source = (await api.ask("POST", "/api/v1/sources", { name: "Shop" })).body;
  const create = { type: "scripted", name: "Hook", sourceIds: [source.id] };
  const destination = (await api.ask("POST", "/api/v1/destinations", create)).body;
  api.destination.outcome = { kind: "failed", reason: "HTTP 404" };
  await api.receive(source.id, [
    { messageId: "m-1", type: "track", event: "Signed Up", userId: "u1" },
    { messageId: "m-2", type: "page", anonymousId: "a1" },
  ]);
  await api.clock.advance(1_000);
  return { source, destination };
}

/** Runs the clock until the operation has ended. */
async function ended(api: ControlApi, id: string) {
  for (;;) {
    const { body } = await api.ask("GET", `/api/v1/operations/${id}`);
    if (body.state !== "running" && body.state !== "selecting") return body;
    await api.clock.advance(250);
  }
}

it("groups failed deliveries, lists those of a cause with event and user, and retries them", async () => {
  await using api = await controlApi();
  const { destination } = await withFailures(api);
  const groups = await api.ask("GET", "/api/v1/delivery-groups");
  expect(groups.body).toMatchObject({
    isExact: true,
    items: [
      {
        destinationId: destination.id,
        cause: "http_404",
        title: "404 Not Found",
        advice: expect.stringContaining("URL"),
        count: 2,
        failed: 2,
        pending: 0,
        example: { messageId: "m-2", type: "page", anonymousId: "a1" },
      },
    ],
  });
  const list = `/api/v1/deliveries?destinationId=${destination.id}&cause=http_404`;
  expect((await api.ask("GET", list)).body.items).toMatchObject([
    { messageId: "m-2", type: "page", anonymousId: "a1" },
    { messageId: "m-1", type: "track", event: "Signed Up", userId: "u1" },
  ]);
  expect((await api.ask("GET", "/api/v1/deliveries?cause=http_404")).status).toBe(400);

  api.destination.outcome = { kind: "delivered", reason: "done" };
  const filter = { destinationId: destination.id, cause: "http_404" };
  const counted = await api.ask("POST", "/api/v1/operations", { kind: "retry", filter, dryRun: true });
  expect(counted).toMatchObject({ status: 200, body: { total: 2 } });
  const started = await api.ask("POST", "/api/v1/operations", { kind: "retry", filter });
  expect(started).toMatchObject({ status: 202, body: { createdBy: { tokenName: "test" }, filter } });
  expect(await ended(api, started.body.id)).toMatchObject({
    state: "finished",
    total: 2,
    done: 2,
    results: { delivered: 2, failed: 0 },
  });
  expect((await api.ask("GET", "/api/v1/operations")).body.items).toHaveLength(1);
  const [entry] = (await api.ask("GET", "/api/v1/audit")).body.items;
  expect(entry).toMatchObject({ action: "operations.create", target: started.body.id });
});

it("starts an operation once per Idempotency-Key", async () => {
  await using api = await controlApi();
  const { destination } = await withFailures(api);
  const body = { kind: "discard", filter: { destinationId: destination.id, userId: "u1" } };
  const options = { headers: { "idempotency-key": "once" } };
  const first = await api.ask("POST", "/api/v1/operations", body, options);
  const again = await api.ask("POST", "/api/v1/operations", body, options);
  expect(again.body.id).toBe(first.body.id);
  const operation = await ended(api, first.body.id);
  expect(operation).toMatchObject({ results: { discarded: 1 } });
  // What has ended names no user.
  expect(JSON.stringify(operation)).not.toContain("u1");
  expect((await api.ask("GET", "/api/v1/operations")).body.items).toHaveLength(1);
});

it.each([
  ["neither a filter nor ids", { kind: "retry" }, 400],
  ["both", { kind: "retry", filter: {}, ids: ["dst_1.1"] }, 400],
  ["an unknown kind", { kind: "burn", filter: {} }, 400],
  ["an unknown destination", { kind: "retry", filter: { destinationId: "dst_none" } }, 404],
  ["an id that is none", { kind: "retry", ids: ["nonsense"] }, 404],
  ["an unreadable time", { kind: "retry", filter: { from: "yesterday" } }, 400],
])("refuses %s", async (_name, body, status) => {
  await using api = await controlApi();
  expect((await api.ask("POST", "/api/v1/operations", body)).status).toBe(status);
  expect((await api.ask("GET", "/api/v1/operations")).body.items).toEqual([]);
});

it("a read-only token sees groups and operations, and starts none", async () => {
  await using api = await controlApi();
  const { token } = await api.tokens.create("reader", "read");
  expect((await api.ask("GET", "/api/v1/delivery-groups", undefined, { token })).status).toBe(200);
  expect((await api.ask("GET", "/api/v1/operations", undefined, { token })).status).toBe(200);
  const body = { kind: "retry", filter: {} };
  expect((await api.ask("POST", "/api/v1/operations", body, { token })).status).toBe(403);
});
