import { afterEach, beforeEach, expect, it } from "vitest";
import { startTestCollector, type TestCollector } from "../../src/testing.js";

const URL_A = "https://hooks.example/in?key=path-secret";
const HEADERS = {
  "Content-Type": "text/html",
  "Set-Cookie": "session=hush",
  "X-Echo": "hush-team",
  Location: "https://hooks.example/other?key=path-secret",
  Date: "Sun, 22 Nov 2026 19:00:00 GMT",
};

interface Shown {
  readonly attempts: readonly { readonly [field: string]: unknown }[];
  readonly requestBody?: {
    readonly text: string;
    readonly bytes: number;
    readonly settingsChangedAt?: string;
  };
}

let collector: TestCollector;
let destinationId: string;
beforeEach(async () => {
  collector = await startTestCollector();
  destinationId = await collector.connect({ webhooks: [{ url: URL_A, headers: { "X-Team": "hush-team" } }] });
  collector.webhooks.script(URL_A, { status: 400, body: "no", headers: HEADERS });
});
afterEach(() => collector.close());

async function send(properties: object = {}): Promise<void> {
  const page = { url: "https://shop.example/cart?step=2" };
  await collector.send({
    type: "track",
    event: "Ordered",
    userId: "u1",
    messageId: "m1",
    properties,
    context: { page },
  });
  await collector.advance(1_000);
}

async function shown(token = collector.adminToken): Promise<Shown> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${collector.url}/api/v1/messages/m1`, { headers });
  const { outcomes } = (await answer.json()) as { outcomes: readonly Shown[] };
  return outcomes[0] as Shown;
}

async function example(): Promise<Shown> {
  const { items } = (await collector.api("GET", "/delivery-groups")) as { items: { example: Shown }[] };
  return items[0]?.example as Shown;
}

it("shows the body that was sent, and the response's headers without secrets", async () => {
  await send();
  const { attempts, requestBody } = await shown();
  expect(attempts[0]?.responseHeaders).toEqual({
    "content-type": "text/html",
    "set-cookie": "[redacted]",
    "x-echo": "hush-team",
    location: HEADERS.Location,
  });
  expect(attempts[0]).not.toHaveProperty("responseHeadersLeftOut");
  const sent = collector.webhooks.requests[0]?.body ?? "";
  expect(requestBody).toEqual({ text: sent, bytes: Buffer.byteLength(sent) });

  const { items } = (await collector.api("GET", "/deliveries?state=failed")) as { items: { id: string }[] };
  expect(await collector.api("GET", `/deliveries/${items[0]?.id}`)).toMatchObject({ attempts, requestBody });
  expect(await example()).toMatchObject({ attempt: attempts[0], requestBody });
});

it("masks headers that repeat the request's for a token with read access, but not the body", async () => {
  await send();
  const { token } = (await collector.api("POST", "/tokens", { name: "ci", access: "read" })) as {
    token: string;
  };
  const { attempts, requestBody } = await shown(token);
  expect(attempts[0]?.responseHeaders).toMatchObject({
    "x-echo": "[redacted]",
    location: "https://hooks.example/…",
  });
  expect(requestBody?.text).toBe(collector.webhooks.requests[0]?.body);
});

it("stores no headers of a response that accepted the message", async () => {
  collector.webhooks.script(URL_A, { status: 200, headers: HEADERS });
  await send();
  const { attempts, requestBody } = await shown();
  expect(attempts).toHaveLength(1);
  expect(attempts[0]).not.toHaveProperty("responseHeaders");
  expect(requestBody?.text).toBe(collector.webhooks.requests[0]?.body);
});

it("makes the body with the present settings, and says when they changed", async () => {
  await send({ plan: "pro", secret: "x" });
  const path = `/destinations/${destinationId}`;
  await collector.api("PATCH", path, { name: "Renamed" });
  expect((await shown()).requestBody).not.toHaveProperty("settingsChangedAt");
  await collector.api("PATCH", path, {
    filters: [{ action: { kind: "remove", paths: ["properties.secret"] } }],
    settings: { payload: "classic" },
  });
  const { text, settingsChangedAt } = (await shown()).requestBody ?? { text: "{}" };
  expect(settingsChangedAt).toMatch(/Z$/);
  expect(JSON.parse(text)).toMatchObject({ event: "Ordered", properties: { plan: "pro" } });
  expect(text).not.toContain("secret");
  expect(text).not.toContain("context");
  await collector.api("PATCH", path, { filters: [{ action: { kind: "drop" } }] });
  expect(await shown()).not.toHaveProperty("requestBody");
});

it("cuts the body of an example between two characters", async () => {
  await send({ text: "ü".repeat(9_000) });
  const { requestBody } = await example();
  expect(requestBody?.bytes).toBeGreaterThan(18_000);
  expect(requestBody?.text).not.toContain("\ufffd");
  expect(Buffer.byteLength(requestBody?.text ?? "")).toBeGreaterThanOrEqual(4_095);
  expect((await shown()).requestBody?.text).toBe(collector.webhooks.requests[0]?.body);
});
