import type { Ending, FakeCollector } from "./fake-collector.js";

/** The argument of a transport: `TransportRequest` of `@sluice/node`. */
interface Request {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

type Outcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly retryAfter?: string | undefined;
      readonly body: string;
    }
  | { readonly kind: "failed"; readonly reason: string };

/** A `transport` for `Analytics` that passes requests to the collector without a socket. `send` never throws or rejects. */
export function memoryTransport(collector: FakeCollector): {
  send(request: Request, signal: AbortSignal): Promise<Outcome>;
} {
  return {
    async send(request, signal) {
      const ending = taken(collector, request);
      switch (ending.kind) {
        case "answer": {
          const { status, headers: answered, body: text } = ending.answer;
          return { kind: "answered", status, retryAfter: answered["retry-after"], body: text };
        }
        case "reset":
          return { kind: "failed", reason: "reset by the fake collector" };
        case "invalid":
          return { kind: "failed", reason: ending.reason };
        case "hang":
          return new Promise((resolve) => {
            const end = (): void => resolve({ kind: "failed", reason: "aborted" });
            if (signal?.aborted) end();
            else signal?.addEventListener("abort", end, { once: true });
          });
        default:
          return ending satisfies never;
      }
    },
  };
}

/** How the collector ends a request. A request that is none is invalid. */
function taken(
  collector: FakeCollector,
  request: Request,
): Ending | { readonly kind: "invalid"; readonly reason: string } {
  try {
    const { url, method, headers, body } = request;
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    return collector.handle({ method, path: new URL(url).pathname, headers, body: bytes });
  } catch {
    return { kind: "invalid", reason: "The request cannot be read" };
  }
}
