import fc from "fast-check";
import { expect } from "vitest";
import { startTestCollector, type TestCollector } from "../../../../apps/collector/src/testing.js";
import { ENDPOINTS } from "../../../../packages/control-api/src/endpoints.js";
import { valueTarget } from "../../engine/target.js";
import { valuesOf } from "./values-of-schema.js";

let collector: TestCollector;
/** Ids of things that exist, so that requests reach more than the first look-up. */
let known: readonly string[] = [];

const ids = fc.oneof(
  fc.nat({ max: 20 }).map((index) => `@${index}`),
  fc.constantFrom(
    "src_x",
    "dst_1.0",
    "dst_1.9007199254740993",
    "__proto__",
    "..",
    "%2e%2e",
    "a b",
    "é",
    "-1/2026-11-21T09:30:00.000Z",
  ),
);
const cursor = fc.oneof(
  fc.constantFrom("0", "5", "-1", "9".repeat(16), "1:x", "NaN", "e30=", "null"),
  fc.string(),
);
const header = fc.oneof(
  cursor,
  fc.constantFrom(
    "-1/2026-11-21T09:30:00.000Z",
    "0/+275760-09-13T00:00:00.000Z",
    "9".repeat(15).concat("/2026-11-21T09:30:00.000Z"),
  ),
);

/** One request to one endpoint. */
const request = fc.constantFrom(...Object.entries(ENDPOINTS)).chain(([key, spec]) => {
  const [method = "", path = ""] = key.split(" ");
  const { query, body } = spec as { query?: object; body?: object };
  return fc.record({
    method: fc.constant(method),
    path: fc.constant(path),
    params: fc.array(ids, { minLength: 3, maxLength: 3 }),
    query:
      query === undefined
        ? fc.constant({})
        : fc.oneof(valuesOf(query, ids), fc.record({ cursor, limit: cursor })),
    body: body === undefined ? fc.constant(undefined) : valuesOf(body, ids),
    headers: fc.record(
      {
        "if-match": fc.oneof(fc.constantFrom("1", '"1"', "*", "W/1"), cursor),
        "idempotency-key": fc.constantFrom("k1", "k2", "x".repeat(300)),
        "last-event-id": header,
        authorization: fc.constantFrom("Bearer", "Bearer x", "Basic eDp5", `Bearer ${"x".repeat(5_000)}`),
        cookie: fc.constantFrom("token=x", "a"),
        "content-type": fc.constantFrom("text/plain", "application/json; charset=x"),
      },
      { requiredKeys: [] },
    ),
  });
});
type Request = typeof request extends fc.Arbitrary<infer T> ? T : never;

export const controlApi = valueTarget({
  name: "control-api",
  rule: "no request to any endpoint of the control API gets a 5xx, and the collector goes on storing and delivering",
  runs: 120,
  values: fc.array(request, { minLength: 1, maxLength: 4 }),
  async open() {
    collector = await startTestCollector();
    const destinationId = await collector.connect({ webhooks: [{ url: "https://hooks.example/in" }] });
    await collector.send({ type: "track", event: "E", userId: "u1", messageId: "m1", properties: { a: 1 } });
    await collector.advance(1_000);
    known = [...(await listed("/sources")), destinationId, `${destinationId}.0`, "m1", "u1"];
    return () => collector.close();
  },
  async check(requests) {
    for (const one of requests) {
      const { status, text } = await ask(one);
      // 503 says that something is switched off or being prepared, and names it.
      if (status !== 503) expect(status, text).toBeLessThan(500);
      expect(text).not.toMatch(/\bat .*:\d+:\d+/);
    }
    const health = await fetch(`${collector.url}/healthz`);
    expect(health.status).toBe(200);
    await health.text();
  },
});

async function listed(path: string): Promise<string[]> {
  const { items } = (await collector.api("GET", path)) as { items: { id: string }[] };
  return items.map(({ id }) => id);
}

/** `@3` stands for a thing that exists. */
function named(text: string): string {
  return text.replace(/^@(\d+)$/, (_, index) => known[Number(index) % known.length] ?? "");
}

async function ask(one: Request): Promise<{ status: number; text: string }> {
  try {
    return await answerTo(one);
  } catch (error) {
    if ((error as Error).name !== "TimeoutError") throw error;
    return { status: 0, text: "" };
  }
}

async function answerTo({
  method,
  path,
  params,
  query,
  body,
  headers,
}: Request): Promise<{ status: number; text: string }> {
  let place = 0;
  const filled = path.replace(/:\w+/g, () =>
    encodeURIComponent(Buffer.from(named(params[place++] ?? "")).toString()),
  );
  const parameters = new URLSearchParams(
    Object.entries(query ?? {}).map(([name, value]): [string, string] => [
      name,
      typeof value === "string" ? named(value) : (JSON.stringify(value) ?? ""),
    ]),
  );
  const response = await fetch(`${collector.url}/api/v1${filled}?${parameters}`, {
    method,
    headers: { authorization: `Bearer ${collector.adminToken}`, ...headers },
    // Some endpoints wait for an event that never comes: then there is nothing to check.
    signal: AbortSignal.timeout(2_000),
    ...(body === undefined || method === "GET"
      ? {}
      : { body: JSON.stringify(body, (_, value) => (typeof value === "string" ? named(value) : value)) }),
  });
  if (!response.headers.get("content-type")?.startsWith("text/event-stream"))
    return { status: response.status, text: await response.text() };
  await response.body?.cancel();
  return { status: response.status, text: "" };
}
