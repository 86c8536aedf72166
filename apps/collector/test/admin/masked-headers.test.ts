import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { maskFor } from "../../src/admin/masking.js";
import { startTestCollector, type TestCollector } from "../../src/testing.js";

const URL_A = "https://hooks.example/";
const HEADERS = {
  "X-Team": "hush-team",
  "X-Tenant": 'hush "tenant"',
  "X-Env": "eu",
  Authorization: "Bearer hush-credential",
};
/** As receivers do that show what they were asked. */
const ECHO = `${JSON.stringify({ headers: HEADERS })} no rights for hush-credential of hush-team in the region eu`;

let collector: TestCollector;
let readToken: string;
let destinationId: string;
beforeEach(async () => {
  collector = await startTestCollector();
  destinationId = await collector.connect({ webhooks: [{ url: URL_A, headers: HEADERS }] });
  const made = (await collector.api("POST", "/tokens", { name: "ci", access: "read" })) as { token: string };
  readToken = made.token;
});
afterEach(() => collector.close());

async function textOf(path: string, token: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${collector.url}/api/v1${path}`, { headers })).text();
}

async function sendRefused(): Promise<void> {
  collector.webhooks.script(URL_A, { status: 400, body: ECHO });
  await collector.send({ type: "track", event: "Ordered", userId: "u1", messageId: "m1" });
  await collector.advance(1_000);
}

describe("a token that may only read", () => {
  it("is shown no value of a custom header, whatever it asks", async () => {
    await sendRefused();
    await collector.api("PATCH", `/destinations/${destinationId}`, {
      settings: { webhooks: [{ url: URL_A, headers: { ...HEADERS, "X-Team": "hush-other" } }] },
    });
    const { items } = (await collector.api("GET", "/deliveries?state=failed")) as { items: { id: string }[] };
    const { paths } = (await collector.api("GET", "/openapi.json")) as {
      paths: { [path: string]: { get?: object } };
    };
    const ids: { [path: string]: string } = {
      "/destinations/{id}": destinationId,
      "/destinations/{id}/status": destinationId,
      "/deliveries/{id}": items[0]?.id ?? "",
    };
    const shows: string[] = [];
    for (const [path, { get }] of Object.entries(paths)) {
      if (get === undefined || path === "/live") continue;
      const query = path === "/wait" ? "?messageId=m1&state=failed" : "";
      const address = path.replace("{id}", ids[path] ?? "none").replace(/\{\w+\}/, "m1") + query;
      expect(await textOf(address, readToken), path).not.toContain("hush");
      const toAll = await textOf(address, collector.adminToken);
      // What is a credential by its name is shown to nobody, even where a receiver repeats it.
      expect(toAll, path).not.toContain("hush-credential");
      if (toAll.includes("hush")) shows.push(path);
    }
    expect(shows).toEqual([
      "/destinations",
      "/destinations/{id}",
      "/messages/{messageId}",
      "/wait",
      "/deliveries/{id}",
      "/delivery-groups",
    ]);
  });

  it("is shown the names, what the collector itself sends, and the rest of the answer", async () => {
    await sendRefused();
    const destination = JSON.parse(await textOf(`/destinations/${destinationId}`, readToken));
    expect(destination.settings.webhooks[0].headers).toEqual(
      Object.fromEntries(Object.keys(HEADERS).map((name) => [name, "••••••••"])),
    );
    const [attempt] = JSON.parse(await textOf("/messages/m1", readToken)).outcomes[0].attempts;
    expect(attempt.requestHeaders).toMatchObject({
      "Content-Type": "application/json",
      "User-Agent": "Sluice/1.0",
      "X-Message-Id": "m1",
      "X-Attempt": "1",
      ...Object.fromEntries(Object.keys(HEADERS).map((name) => [name, "[redacted]"])),
    });
    expect(attempt.response).toContain("no rights for [redacted] of [redacted] in the region eu");
  });
});

it("what the audit log hides stays as it is, and a token with full access sees everything", () => {
  const entry = { change: { headers: { "X-A": "(hidden)" } }, requestHeaders: { "X-A": "value" } };
  expect(maskFor({ access: "read" }, entry)).toEqual({
    change: { headers: { "X-A": "(hidden)" } },
    requestHeaders: { "X-A": "[redacted]" },
  });
  expect(maskFor({ access: "full" }, entry)).toBe(entry);
});
