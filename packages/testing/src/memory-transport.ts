import type { FakeCollector } from "./fake-collector.js";

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

/** A `transport` for `Analytics` that passes requests to the collector without a socket. */
export function memoryTransport(collector: FakeCollector): {
  send(request: Request, signal: AbortSignal): Promise<Outcome>;
} {
  return {
    async send({ url, method, headers, body }, signal) {
      const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
      const ending = collector.handle({ method, path: new URL(url).pathname, headers, body: bytes });
      switch (ending.kind) {
        case "answer": {
          const { status, headers: answered, body: text } = ending.answer;
          return { kind: "answered", status, retryAfter: answered["retry-after"], body: text };
        }
        case "reset":
          return { kind: "failed", reason: "reset by the fake collector" };
        case "hang":
          return new Promise((resolve) => {
            const end = (): void => resolve({ kind: "failed", reason: "aborted" });
            if (signal.aborted) end();
            else signal.addEventListener("abort", end, { once: true });
          });
        default:
          return ending satisfies never;
      }
    },
  };
}
