import { describe, expect, it } from "vitest";
import { ANSWER_BYTES, fetchTransport, type TransportRequest } from "../../src/index.js";

const request: TransportRequest = {
  url: "http://c.example/v1/batch",
  method: "POST",
  headers: { a: "b" },
  body: "{}",
};
const never = new AbortController().signal;

describe("fetchTransport", () => {
  it("passes the request on and does not follow redirects", async () => {
    let seen: [string, RequestInit] | undefined;
    const transport = fetchTransport(async (url, init) => {
      seen = [url, init];
      return new Response("moved", { status: 307, headers: { "retry-after": "3" } });
    });
    expect(await transport.send(request, never)).toEqual({
      kind: "answered",
      status: 307,
      retryAfter: "3",
      body: "moved",
    });
    expect(seen).toMatchObject([
      "http://c.example/v1/batch",
      { method: "POST", body: "{}", redirect: "manual" },
    ]);
  });

  it("returns an outcome for what fetch throws, with its cause", async () => {
    const transport = fetchTransport(async () => {
      throw new TypeError("fetch failed", {
        cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
      });
    });
    expect(await transport.send(request, never)).toEqual({
      kind: "failed",
      reason: "fetch failed: ECONNREFUSED: connect",
    });
  });

  it("reads only the beginning of an endless answer", async () => {
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(100_000).fill(120)),
      cancel: () => {
        cancelled = true;
      },
    });
    const outcome = await fetchTransport(async () => new Response(endless)).send(request, never);
    expect(outcome).toMatchObject({ kind: "answered", status: 200 });
    expect(outcome.kind === "answered" && outcome.body.length).toBe(ANSWER_BYTES);
    expect(cancelled).toBe(true);
  });

  it("looks up the global fetch at each request, so that interceptors installed later work", async () => {
    const transport = fetchTransport();
    const original = globalThis.fetch;
    try {
      globalThis.fetch = async () => new Response("intercepted");
      expect(await transport.send(request, never)).toMatchObject({ body: "intercepted" });
    } finally {
      globalThis.fetch = original;
    }
  });
});
