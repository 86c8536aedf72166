import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { maskUrls } from "../../src/admin/masking.js";
import { startTestCollector, type TestCollector } from "../../src/testing.js";

/** Receivers that know no signatures are given a secret in their URL: at any place after the host. */
const ONE = "https://hooks.example/hush-1/in";
const TWO = "https://hooks.example/a/b?token=hush-2;more=hush-3";
const LINK = "https://shop.example/cart/7?q=1";

let collector: TestCollector;
let readToken: string;
let destinationId: string;
beforeEach(async () => {
  collector = await startTestCollector();
  destinationId = await collector.connect({ webhooks: [{ url: ONE }, { url: TWO }] });
  const made = (await collector.api("POST", "/tokens", { name: "ci", access: "read" })) as { token: string };
  readToken = made.token;
});
afterEach(() => collector.close());

function ask(path: string, token: string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${collector.url}/api/v1${path}`, {
    headers: { authorization: `Bearer ${token}` },
    ...(signal === undefined ? {} : { signal }),
  });
}

async function sendRefused(): Promise<void> {
  for (const url of [ONE, TWO]) collector.webhooks.script(url, { status: 400, body: `{"at":"${url}"}` });
  await collector.send({
    type: "track",
    event: "Ordered",
    userId: "u1",
    messageId: "m1",
    properties: { link: LINK },
  });
  await collector.advance(1_000);
}

it("a long row of punctuation behind a URL is masked in one pass", () => {
  const text = `https://shop.example/cart${")".repeat(500_000)}7).`;
  expect(maskUrls({ access: "read" }, text)).toBe("https://shop.example/…).");
});

describe("a token that may only read", () => {
  it("is told of a webhook's URL where it leads, and nothing after the host, whatever it asks", async () => {
    await sendRefused();
    collector.webhooks.script(ONE, 410);
    collector.webhooks.script(TWO, 500);
    await collector.send({ type: "track", event: "Ordered", userId: "u1", messageId: "m2" });
    await collector.advance(1_000);
    const { items } = (await collector.api("GET", "/deliveries?state=failed")) as {
      items: { id: string }[];
    };
    const { paths } = (await collector.api("GET", "/openapi.json")) as {
      paths: { [path: string]: { get?: object } };
    };
    const ids: { [path: string]: string } = {
      "/destinations/{id}": destinationId,
      "/destinations/{id}/status": destinationId,
      "/deliveries/{id}": items[0]?.id ?? "",
    };
    const asked = Object.entries(paths)
      .filter(([path, { get }]) => get !== undefined && path !== "/live")
      .map(([path]) => path);
    const shows: string[] = [];
    for (const path of asked) {
      const query = path === "/wait" ? "?messageId=m1&state=failed" : "";
      const address = path.replace("{id}", ids[path] ?? "none").replace(/\{\w+\}/, "m1") + query;
      expect(await (await ask(address, readToken)).text(), path).not.toContain("hush");
      if ((await (await ask(address, collector.adminToken)).text()).includes("hush")) shows.push(path);
    }
    expect(shows).toEqual([
      "/destinations",
      "/destinations/{id}",
      "/destinations/{id}/status",
      "/messages",
      "/messages/{messageId}",
      "/wait",
      "/deliveries",
      "/deliveries/{id}",
      "/audit",
      "/health",
      "/delivery-groups",
    ]);
    const shown = (await (await ask("/messages/m1", readToken)).json()) as {
      message: object;
      outcomes: { reason: string; attempts: { url: string; response: string }[] }[];
    };
    // What was received is not the destination's.
    expect(shown.message).toMatchObject({ properties: { link: LINK } });
    expect(shown.outcomes[0]?.reason).toBe(
      "https://hooks.example/…: HTTP 400; https://hooks.example/…: HTTP 400",
    );
    expect(shown.outcomes[0]?.attempts[0]).toMatchObject({
      url: "https://hooks.example/…",
      response: '{"at":"https://hooks.example/…"}',
    });
  });

  it.each([
    ["all of it", "/live"],
    ["by a filter", "/live?q=outcome:failed"],
  ])("follows the live stream, %s, under the same rule", async (_how, path) => {
    const ended = new AbortController();
    const stream = (await ask(path, readToken, ended.signal)).body?.pipeThrough(new TextDecoderStream());
    await sendRefused();
    let seen = "";
    for await (const chunk of stream ?? []) {
      seen += chunk;
      if (seen.includes("event: outcome\n")) break;
      await collector.advance(1_000);
    }
    ended.abort();
    expect(seen).toContain("https://hooks.example/…: HTTP 400");
    expect(seen).toContain(LINK);
    expect(seen).not.toContain("hush");
  });

  it("finds deliveries by what it is shown of their reasons, not by what is hidden", async () => {
    await sendRefused();
    const count = async (error: string, token: string): Promise<number> => {
      const answer = await ask(`/deliveries?limit=1&error=${encodeURIComponent(error)}`, token);
      const { items, nextCursor } = (await answer.json()) as { items: object[]; nextCursor?: string };
      expect(nextCursor).toBeUndefined();
      return items.length;
    };
    expect([await count("hush-2", collector.adminToken), await count("hush-2", readToken)]).toEqual([1, 0]);
    expect([await count("HTTP 400", collector.adminToken), await count("HTTP 400", readToken)]).toEqual([
      1, 1,
    ]);
    expect(await count("hooks.example/…: HTTP", readToken)).toBe(1);
  });
});

it.each([
  ["a URL alone", "https://a.example/x/y?z#f", "https://a.example/…"],
  ["nothing to hide", "https://a.example/", "https://a.example/"],
  ["a port", "http://127.0.0.1:8080/hook", "http://127.0.0.1:8080/…"],
  [
    "a sentence",
    "at https://a.example/x. Try (http://b.example/y), or",
    "at https://a.example/…. Try (http://b.example/…), or",
  ],
  ["markup", '<a href="https://a.example/x">', '<a href="https://a.example/…">'],
  ["other addresses", "console: file:///var/x", "console: file:///var/x"],
])("what is masked in %s", (_what, text, shown) => {
  expect(maskUrls({ access: "read" }, { deep: [text] })).toEqual({ deep: [shown] });
  expect(maskUrls({ access: "full" }, text)).toBe(text);
});

it("the path that a receiver's answer or a reason repeats without its host is hidden with the URL", () => {
  const attempt = {
    url: "https://a.example/hooks/hush?token=mum",
    status: 404,
    error: { code: "status", message: "HTTP 404: Cannot POST /hooks/hush" },
    response: "<pre>Cannot POST /hooks/hush?token=mum</pre> <pre>/hooks</pre>",
  };
  const shown = maskUrls({ access: "read" }, { attempts: [attempt] });
  expect(shown.attempts[0]).toEqual({
    url: "https://a.example/…",
    status: 404,
    error: { code: "status", message: "HTTP 404: Cannot POST /…" },
    response: "<pre>Cannot POST /…</pre> <pre>/hooks</pre>",
  });
  expect(maskUrls({ access: "full" }, attempt)).toEqual(attempt);
});

it("a field that is a URL is masked whole, however it was typed", () => {
  const typed = {
    url: " https://a.example\\x y/hush",
    webhookUrl: 'https://a.example/"hush" hush',
    disabledUrls: [],
  };
  expect(maskUrls({ access: "read" }, typed)).toEqual({
    url: "https://a.example/…",
    webhookUrl: "https://a.example/…",
    disabledUrls: [],
  });
});
