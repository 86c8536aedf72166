import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { systemClock } from "@sluice/resilience";
import { afterEach, describe, expect, test } from "vitest";
import { CollectorError } from "../../src/errors.js";
import { forwardedFor } from "../../src/http/connection/forwarded.js";
import type { HttpLimits } from "../../src/http/limits.js";
import type { HttpAnswer, Route } from "../../src/http/routing.js";
import { createRouter } from "../../src/http/routing.js";
import { type HttpServer, startServer } from "../../src/http/server.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

const opened: HttpServer[] = [];
const logged: string[] = [];
afterEach(async () => {
  logged.length = 0;
  await Promise.all(opened.splice(0).map((server) => server.close(100)));
});

async function serve(
  routes: readonly Route[],
  port = 0,
  limits: Partial<HttpLimits> = {},
): Promise<HttpServer> {
  const server = await startServer({
    host: "127.0.0.1",
    port,
    routes,
    clock: systemClock,
    limits,
    metrics: createMetrics(),
    logger: createLogger({ write: (line) => logged.push(line) }),
  });
  opened.push(server);
  return server;
}

describe("startServer", () => {
  test("an unexpected error is logged, and becomes a 500 without details", async () => {
    const { url } = await serve([
      { path: "/boom", methods: { GET: () => Promise.reject(new Error("the password is 12345")) } },
    ]);
    const response = await fetch(`${url}/boom`);
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({
      success: false,
      code: "internal",
      message: "internal: The collector failed to handle this request",
      requestId: response.headers.get("x-request-id"),
    });
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain("the password is 12345");
  });

  test("a flood of failures does not flood the log", async () => {
    const { url } = await serve([
      { path: "/boom", methods: { GET: () => Promise.reject(new Error("again")) } },
    ]);
    const answers = await Promise.all(Array.from({ length: 200 }, () => fetch(`${url}/boom`)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([500]));
    expect(logged.length).toBeLessThanOrEqual(20);
  });

  test("a handler that throws synchronously gets a response too", async () => {
    const { url } = await serve([
      {
        path: "/conflict",
        methods: {
          POST: () => {
            throw new CollectorError("conflict", "it is there", { details: { version: 3 } });
          },
        },
      },
    ]);
    const response = await fetch(`${url}/conflict`, { method: "POST" });
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: "conflict", version: 3 });
  });

  test("a response that takes longer than the idle timeout arrives", async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<{ status: number; body: object }>();
    const { url, port } = await serve(
      [
        {
          path: "/slow",
          methods: {
            GET: () => {
              asked.resolve();
              return answer.promise;
            },
          },
        },
      ],
      0,
      // Time enough for a slow machine to send the request.
      { idleTimeoutMs: 300 },
    );
    const response = fetch(`${url}/slow`);
    await asked.promise;
    // Two that say nothing, one after the other: their ends tell that the time was up twice.
    for (let idle = 0; idle < 2; idle++) await once(connect(port, "127.0.0.1").resume(), "close");
    answer.resolve({ status: 200, body: { success: true } });
    expect((await response).status).toBe(200);
  });

  test("a stream ends with its promise, and its signal aborts when the client disconnects", async () => {
    const ended = Promise.withResolvers<void>();
    const { url } = await serve([
      {
        path: "/live",
        methods: {
          GET: () => ({
            status: 200,
            headers: { "content-type": "text/event-stream" },
            stream: async (write, signal) => {
              write("data: 1\n\n");
              await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
              ended.resolve();
            },
          }),
        },
      },
    ]);
    const abort = new AbortController();
    const response = await fetch(`${url}/live`, { signal: abort.signal });
    const { value } = (await response.body?.getReader().read()) ?? {};
    expect(new TextDecoder().decode(value)).toBe("data: 1\n\n");
    abort.abort();
    await ended.promise;
  });

  test("a stream whose client has left before it began is aborted at once", async () => {
    const [asked, left, ended] = [0, 1, 2].map(() => Promise.withResolvers<void>());
    const { port } = await serve([
      {
        path: "/live",
        methods: {
          async GET() {
            asked?.resolve();
            await left?.promise;
            return {
              status: 200,
              async stream(_write, signal) {
                if (!signal.aborted) await once(signal, "abort");
                ended?.resolve();
              },
            };
          },
        },
      },
    ]);
    const socket = connect(port, "127.0.0.1");
    socket.write("GET /live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    await asked?.promise;
    socket.destroy();
    await once(socket, "close");
    // The server hears of it in a later turn.
    await fetch(`http://127.0.0.1:${port}/none`).then((response) => response.text());
    left?.resolve();
    await ended?.promise;
  });

  test("HEAD of a stream ends, and the next request on its connection is answered", async () => {
    const routes: Route[] = [
      { path: "/live", methods: { GET: () => ({ status: 200, stream: () => new Promise(() => {}) }) } },
      { path: "/next", methods: { GET: () => ({ status: 200, body: "next" }) } },
    ];
    const { port } = await serve(routes);
    const socket = connect(port, "127.0.0.1");
    socket.write("HEAD /live HTTP/1.1\r\nHost: a\r\n\r\n");
    socket.write("GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    const answers = await text(socket);
    expect([answers.split("HTTP/1.1 200 OK").length - 1, answers.endsWith("next")]).toEqual([2, true]);
  });

  test("closing aborts streams at once, without waiting for the grace period", async () => {
    const server = await serve([
      {
        path: "/live",
        methods: {
          GET: () => ({
            status: 200,
            stream: async (write, signal) => {
              write("begun");
              await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
              write(" ended");
            },
          }),
        },
      },
    ]);
    const response = await fetch(`${server.url}/live`);
    await server.close(60_000);
    expect(await response.text()).toBe("begun ended");
  });

  test("HEAD is GET without a body; bytes and text are sent unchanged", async () => {
    const { url } = await serve([
      {
        path: "/bytes",
        methods: {
          GET: () => ({
            status: 200,
            headers: { "content-type": "image/gif" },
            body: Uint8Array.of(1, 2, 255),
          }),
        },
      },
    ]);
    const head = await fetch(`${url}/bytes`, { method: "HEAD" });
    expect([head.headers.get("content-length"), (await head.arrayBuffer()).byteLength]).toEqual(["3", 0]);
    expect(new Uint8Array(await (await fetch(`${url}/bytes`)).arrayBuffer())).toEqual(
      Uint8Array.of(1, 2, 255),
    );
  });

  test("a client that sends requests without reading responses is disconnected; one that reads gets them all", async () => {
    let calls = 0;
    const body = "x".repeat(4_000);
    const count = (): HttpAnswer => {
      calls += 1;
      return { status: 200, headers: { "content-type": "text/plain" }, body };
    };
    const later = async () => count();
    const { port } = await serve([
      { path: "/big", methods: { GET: count } },
      { path: "/later", methods: { GET: later } },
    ]);
    const send = (requests: number, path = "/big"): Promise<number> =>
      new Promise((resolve) => {
        let bytes = 0;
        const socket = connect({ port, host: "127.0.0.1" });
        socket.on("error", () => {}).on("close", () => resolve(bytes));
        socket.on("data", (chunk) => {
          bytes += chunk.length;
          if (bytes > requests * body.length) socket.end();
        });
        socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(requests));
      });
    expect(await send(2_000)).toBeLessThan(1_000_000);
    expect(calls).toBeLessThan(200);
    expect(await send(2_000, "/later")).toBeLessThan(1_000_000);
    calls = 0;
    expect(await send(10)).toBeGreaterThan(10 * body.length);
    expect(calls).toBe(10);
    const pages = Array.from({ length: 30 }, () => fetch(`http://127.0.0.1:${port}/big`));
    for (const page of pages) expect(await (await page).text()).toBe(body);
  });

  test("listening on a used port rejects", async () => {
    const { port } = await serve([]);
    await expect(serve([], port)).rejects.toThrow("EADDRINUSE");
  });

  test("a route without CORS sends no CORS headers", async () => {
    const { url } = await serve([
      { path: "/api/v1/sources", methods: { GET: () => ({ status: 200, body: {} }) } },
    ]);
    const headers = { origin: "https://evil.example.com" };
    for (const method of ["GET", "OPTIONS"])
      expect(
        (await fetch(`${url}/api/v1/sources`, { method, headers })).headers.get(
          "access-control-allow-origin",
        ),
      ).toBeNull();
  });
});

describe("createRouter", () => {
  const route = (path: string): Route => ({ path, methods: {} });
  const find = createRouter(
    [
      "/",
      "/v1/batch",
      "/v1/projects/:writeKey/settings",
      "/api/v1/sources/:id",
      "/api/v1/sources/new",
      "/assets/*",
    ].map(route),
  );

  test.each<[path: string, matched: string | undefined, params?: Record<string, string>]>([
    ["/", "/"],
    ["/v1/batch", "/v1/batch"],
    ["/v1/batch/", "/v1/batch"],
    ["/v1/batch//", undefined],
    ["//v1/batch", undefined],
    ["/v1/Batch", undefined],
    ["/v1", undefined],
    ["/v1/projects/k/settings", "/v1/projects/:writeKey/settings", { writeKey: "k" }],
    ["/v1/projects/k/settings/", "/v1/projects/:writeKey/settings", { writeKey: "k" }],
    ["/v1/projects/a%2Fb%20c/settings", "/v1/projects/:writeKey/settings", { writeKey: "a/b c" }],
    ["/v1/projects//settings", undefined],
    ["/v1/projects/%FF/settings", undefined],
    ["/v1/projects/%/settings", undefined],
    ["/v1/projects/__proto__/settings", "/v1/projects/:writeKey/settings", { writeKey: "__proto__" }],
    ["/api/v1/sources/new", "/api/v1/sources/new"],
    ["/api/v1/sources/newer", "/api/v1/sources/:id", { id: "newer" }],
    ["/assets/js/app.js", "/assets/*", { "*": "js/app.js" }],
    ["/assets", undefined],
  ])("%s", (path, matched, params = {}) => {
    const found = find(path);
    expect(found?.route.path).toBe(matched);
    if (found !== undefined) expect({ ...found.params }).toEqual(params);
  });

  test("two routes with the same path throw", () => {
    expect(() => createRouter([route("/a"), route("/a/")])).toThrow("Two routes have the path /a");
  });
});

test.each<[header: string | undefined, proxies: number, address: string | undefined]>([
  [undefined, 1, undefined],
  ["1.1.1.1", 0, undefined],
  ["1.1.1.1", 1, "1.1.1.1"],
  ["6.6.6.6, 1.1.1.1", 1, "1.1.1.1"],
  ["6.6.6.6, 1.1.1.1, 10.0.0.1", 2, "1.1.1.1"],
  ["1.1.1.1", 2, "1.1.1.1"],
  ["", 1, undefined],
])("the address that the outermost trusted proxy saw: %s behind %d", (header, proxies, address) => {
  expect(
    forwardedFor(header === undefined ? {} : { "x-forwarded-for": header }, {
      count: proxies,
      headers: "x-forwarded",
    }),
  ).toBe(address);
});
