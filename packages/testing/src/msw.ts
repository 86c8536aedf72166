import { delay, HttpResponse, http, type RequestHandler } from "msw";
import type { FakeCollector } from "./fake-collector.js";

/**
 * Handlers for msw's `setupServer` that answer like the collector. msw intercepts `fetch` and `node:http`, but not undici, so create the
 * client with `transport: fetchTransport()`.
 *
 * @param host The client's `host`. Default: any.
 * @example
 * const server = setupServer(...mswHandlers(collector));
 */
export function mswHandlers(collector: FakeCollector, host = "*"): RequestHandler[] {
  return [
    http.all(`${host.replace(/\/+$/, "")}/v1/:call`, async ({ request }) => {
      const ending = collector.handle({
        method: request.method,
        path: new URL(request.url).pathname,
        headers: Object.fromEntries(request.headers),
        body: new Uint8Array(await request.arrayBuffer()),
      });
      switch (ending.kind) {
        case "answer": {
          const { status, headers, body } = ending.answer;
          return new HttpResponse(body, {
            status,
            headers: { "content-type": "application/json", ...headers },
          });
        }
        case "reset":
          return HttpResponse.error();
        case "hang":
          await delay("infinite");
          return HttpResponse.error();
        default:
          return ending satisfies never;
      }
    }),
  ];
}
