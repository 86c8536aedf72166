import { request } from "node:http";
import { afterEach, expect, test } from "vitest";
import { isAllowedHost } from "../../src/http/routing.js";
import { startTestCollector, type TestCollector } from "../../src/testing.js";

let collector: TestCollector | undefined;
afterEach(async () => {
  await collector?.close();
  collector = undefined;
});

/** Status and body of an answer under a name. */
function ask(path: string, host: string, method = "GET"): Promise<{ status: number; text: string }> {
  const { url, adminToken, writeKey } = collector as TestCollector;
  const authorization = path.startsWith("/v1/") ? `Basic ${btoa(`${writeKey}:`)}` : `Bearer ${adminToken}`;
  return new Promise((resolve, reject) => {
    const asking = request(new URL(path, url), { method, headers: { host, authorization } }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    asking.on("error", reject);
    asking.end(method === "POST" ? '{"userId":"u","event":"e"}' : undefined);
  });
}

test.each<[header: string, isAllowed: boolean]>([
  ["[::1]:8787", true],
  ["[::1]", true],
  ["[::1].evil.example", false],
  ["[::1]:8787.evil.example", false],
  ["[127.0.0.1]evil.example", false],
])("an address in brackets is the whole name: %s", (header, isAllowed) => {
  expect(isAllowedHost(header, [])).toBe(isAllowed);
});

test("on loopback, operator routes refuse foreign host names; ingestion and health accept all", async () => {
  collector = await startTestCollector();
  for (const path of ["/metrics", "/api/v1/info", "/api/v1/openapi.json"]) {
    const refused = await ask(path, "evil.example:8787");
    expect([path, refused.status]).toEqual([path, 403]);
    expect(refused.text).toContain("SLUICE_ALLOWED_HOSTS");
    expect((await ask(path, "127.0.0.1:8787")).status).toBe(200);
    expect((await ask(path, "localhost")).status).toBe(200);
  }
  expect((await ask("/healthz", "evil.example")).status).toBe(200);
  expect((await ask("/v1/track", "evil.example", "POST")).status).toBe(200);
});

test("an allowed host name is accepted, wherever the server listens", async () => {
  collector = await startTestCollector({ host: "0.0.0.0", allowedHosts: ["events.example.com"] });
  expect((await ask("/metrics", "events.example.com")).status).toBe(200);
  expect((await ask("/metrics", "evil.example")).status).toBe(403);
});

test("a server that listens everywhere without allowed names accepts all", async () => {
  collector = await startTestCollector({ host: "0.0.0.0" });
  expect((await ask("/metrics", "events.example.com")).status).toBe(200);
});

test.each([
  ["127.0.0.1", true],
  ["[::1]:8787", true],
  ["203.0.113.7:80", true],
  ["LocalHost:8787", true],
  ["localhost.", true],
  ["app.localhost", true],
  ["localhost.evil.example", false],
  ["127.0.0.1.evil.example", false],
  ["a.example.com", true],
  ["a.b.example.com:443", true],
  ["example.com", false],
  ["evil-example.com", false],
  ["one.test:80", true],
  ["", false],
])("the name %s is allowed: %s", (host, expected) => {
  expect(isAllowedHost(host, ["*.example.com", "one.test"])).toBe(expected);
});
