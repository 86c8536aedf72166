import type { IncomingHttpHeaders } from "node:http";
import { errorAnswer } from "../../../apps/collector/src/http/connection/respond.js";
import type { Handler, HttpAnswer, Route } from "../../../apps/collector/src/http/routing/route.js";
import { createRouter, type Router } from "../../../apps/collector/src/http/routing/router.js";
import type { HttpServer, StartServer } from "../../../apps/collector/src/http/server.js";

export interface ServedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

export interface ServedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Stands in for node:http: finds routes and calls handlers in this process. */
export class MemoryServer {
  #router: Router | undefined;
  #pending = 0;
  #onIdle: (() => void) | undefined;
  readonly #cuts = new Set<() => void>();

  readonly start: StartServer = async ({ routes, clock }): Promise<HttpServer> => {
    this.#router = createRouter(routes);
    return {
      port: 80,
      url: "http://127.0.0.1",
      close: (graceMs) => {
        this.#router = undefined;
        if (this.#pending === 0) return Promise.resolve();
        return new Promise((resolve) => {
          const cancel = clock.after(graceMs, () => {
            this.cut();
            resolve();
          });
          this.#onIdle = () => {
            cancel();
            resolve();
          };
        });
      },
    };
  };

  serve(request: ServedRequest): Promise<ServedAnswer | "refused" | "cut"> {
    const router = this.#router;
    if (router === undefined) return Promise.resolve("refused");
    this.#pending += 1;
    return new Promise((resolve) => {
      const cut = (): void => resolve("cut");
      this.#cuts.add(cut);
      handle(router, request).then((answer) => {
        this.#pending -= 1;
        if (this.#pending === 0) this.#onIdle?.();
        this.#cuts.delete(cut);
        resolve(answer);
      });
    });
  }

  /** Breaks the connections of all requests without an answer. */
  cut(): void {
    this.#router = undefined;
    for (const cut of this.#cuts) cut();
    this.#cuts.clear();
  }
}

async function handle(router: Router, request: ServedRequest): Promise<ServedAnswer> {
  const url = new URL(request.path, "http://collector");
  const match = router(url.pathname);
  const handler: Handler | undefined = match?.route.methods[request.method as keyof Route["methods"]];
  if (match === undefined || handler === undefined) return { status: 404, headers: {}, body: "" };
  try {
    return written(
      await handler({
        method: request.method,
        path: url.pathname,
        params: match.params,
        query: url.searchParams,
        headers: request.headers,
        remoteAddress: "127.0.0.1",
        hosts: ["127.0.0.1"],
        origin: "http://127.0.0.1",
        isLocal: true,
        signal: new AbortController().signal,
        vouch: () => {},
        dropBody: async () => {},
        readBody: async () => request.body,
      }),
    );
  } catch (error) {
    return written(errorAnswer(error));
  }
}

/** An answer as a client sees it. */
export function written({ status, headers = {}, body }: HttpAnswer): ServedAnswer {
  const text =
    typeof body === "string"
      ? body
      : body instanceof Uint8Array
        ? ""
        : body === undefined
          ? ""
          : JSON.stringify(body);
  return { status, headers, body: text };
}
