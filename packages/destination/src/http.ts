import { Agent, type IncomingHttpHeaders, request } from "node:http";
import type { Duplex } from "node:stream";
import { connectionAdvice } from "./connection-advice.js";
import type { Connect, DeliveryResult } from "./definition.js";

export interface HttpRequest {
  readonly method: string;
  readonly url: string | URL;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string | Uint8Array;
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body as text, at most 1 MB. */
  readonly body: string;
  /** The wait that it asks for, in milliseconds. */
  readonly retryAfterMs?: number;
}

export interface HttpClient {
  /** Follows no redirects. Rejects if there is no response. */
  send(request: HttpRequest): Promise<HttpResponse>;
  close(): void;
}

const MOST_BYTES = 1_024 * 1_024;

/** HTTP and HTTPS through the collector's connections, which stay open for the next request. */
export function httpClient(connect: Connect): HttpClient {
  const [plain, encrypted] = [agentOf(connect, false), agentOf(connect, true)];
  return {
    send: ({ method, url, headers = {}, body, signal }) =>
      new Promise((resolve, reject) => {
        const { protocol, hostname, port, pathname, search } = new URL(url);
        const tls = protocol === "https:";
        const sent = request({
          agent: tls ? encrypted : plain,
          method,
          // An IPv6 address has no brackets here.
          hostname: hostname.replace(/^\[|\]$/g, ""),
          port: port === "" ? (tls ? 443 : 80) : port,
          path: pathname + search,
          headers: { host: hostOf(url), ...headers },
          signal,
        });
        sent.once("error", reject);
        sent.once("response", (response) => {
          const chunks: Buffer[] = [];
          let bytes = 0;
          response.on("data", (chunk: Buffer) => {
            bytes += chunk.byteLength;
            if (bytes <= MOST_BYTES) chunks.push(chunk);
          });
          response.once("error", reject);
          response.once("end", () => {
            const seconds = Number(response.headers["retry-after"]);
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(chunks).toString("utf8"),
              ...(seconds > 0 ? { retryAfterMs: seconds * 1_000 } : {}),
            });
          });
        });
        sent.end(body);
      }),
    close() {
      plain.destroy();
      encrypted.destroy();
    },
  };
}

/** The result of a request that `send` rejected: it is retried, and the detail says what to do. */
export function resultWithoutResponse(error: unknown, url: string | URL): DeliveryResult {
  const { code = "error", message } = error as NodeJS.ErrnoException;
  const advice = connectionAdvice({ code, message }, hostOf(url));
  return { kind: "retry", reason: code, detail: [advice, message].filter(Boolean).join(": ") };
}

function hostOf(url: string | URL): string {
  return new URL(url).host;
}

/** The socket is encrypted already if it has to be, so both speak HTTP over it. */
function agentOf(connect: Connect, tls: boolean): Agent {
  const agent = new Agent({ keepAlive: true });
  agent.createConnection = (options, done) => {
    const { host, port } = options as { readonly host: string; readonly port: number };
    connect({ host, port: Number(port), tls }).then(
      (socket) => done?.(null, socket),
      (error: Error) => done?.(error, undefined as unknown as Duplex),
    );
    return undefined;
  };
  return agent;
}
