import { reasonOf } from "../errors/reason-of.js";
import { ANSWER_BYTES, type Transport } from "./transport.js";

/** The part of `fetch` that the SDK uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Sends with `fetch`: for edge runtimes, Bun and Deno, and for tests with msw.
 *
 * @param fetch The function to use. Default: the global one, looked up at each request so that interceptors work.
 * @example
 * const analytics = new Analytics({ writeKey, transport: fetchTransport() });
 */
export function fetchTransport(fetch: Fetch = (url, init) => globalThis.fetch(url, init)): Transport {
  return {
    async send(request, signal) {
      try {
        const { url, method, headers, body } = request;
        const response = await fetch(url, {
          method,
          headers: { ...headers },
          body: body as NonNullable<RequestInit["body"]>,
          redirect: "manual",
          signal,
        });
        return {
          kind: "answered",
          // Browsers hide the status of a redirect that is not followed.
          status: response.type === "opaqueredirect" ? 302 : response.status,
          retryAfter: response.headers.get("retry-after") ?? undefined,
          body: await boundedText(response),
        };
      } catch (error) {
        return { kind: "failed", reason: reasonOf(error) };
      }
    },
  };
}

async function boundedText(response: Response): Promise<string> {
  if (!response.body) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    text += decoder.decode(value, { stream: true });
    if (bytes >= ANSWER_BYTES) {
      // Neither the rest of the body nor an error of its stream matters any more.
      reader.cancel().catch(() => {});
      return text.slice(0, ANSWER_BYTES);
    }
  }
}
