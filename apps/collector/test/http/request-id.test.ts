import { expect, test } from "vitest";
import { requestIdOf } from "../../src/http/connection/request-head.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { startTestCollector } from "../../src/testing.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test.each(["req-1", "a", "0123456789abcdef", "Root=1-67891233-abcdef012345678912345678", "x".repeat(128)])(
  "keeps the given id %s",
  (id) => expect(requestIdOf(id)).toBe(id),
);

test.each([undefined, "", "x".repeat(129), "a b", 'a"b', "a\nb", "ä", "-rf", "<script>", ["a", "b"]])(
  "makes an id instead of %j",
  (id) => expect(requestIdOf(id)).toMatch(UUID),
);

test("is in the response's header and in the bodies of errors", async () => {
  await using collector = await startTestCollector();
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(collector.url + path, { headers });
  const good = await get("/healthz", { "x-request-id": "req-1" });
  expect(good.headers.get("x-request-id")).toBe("req-1");
  expect(await good.text()).not.toContain("req-1");
  for (const path of ["/nowhere", "/api/v1/sources", "/v1/batch"]) {
    const bad = await get(path, { "x-request-id": "req-2" });
    expect(await bad.json()).toMatchObject({ success: false, requestId: "req-2" });
    const made = await get(path, { "x-request-id": "{}" });
    const { requestId } = (await made.json()) as { requestId: string };
    expect(requestId).toMatch(UUID);
    expect(made.headers.get("x-request-id")).toBe(requestId);
  }
});

test("is in the log line of a request that failed", async () => {
  const lines: string[] = [];
  const logger = createLogger({ write: (line) => lines.push(line) });
  await using collector = await startTestCollector({ logger });
  collector.store.log.append = () => Promise.reject(new Error("broken"));
  const response = await fetch(`${collector.url}/v1/track`, {
    method: "POST",
    headers: {
      authorization: `Basic ${Buffer.from(`${collector.writeKey}:`).toString("base64")}`,
      "x-request-id": "req-3",
    },
    body: JSON.stringify({ userId: "jane@example.com", event: "Paid", properties: { card: "4111" } }),
  });
  expect(response.status).toBe(500);
  const [line = "{}"] = lines.filter((text) => text.includes("request failed"));
  expect(JSON.parse(line)).toMatchObject({
    level: "error",
    msg: "request failed",
    component: "http",
    requestId: "req-3",
    path: "/v1/track",
  });
  for (const secret of [collector.writeKey, "jane@example.com", "4111"])
    expect(lines.join()).not.toContain(secret);
});
