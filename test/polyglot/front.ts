import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { parseExact } from "./exact-json.ts";

/** A message as a client sent it. */
export type Sent = Readonly<Record<string, unknown>>;

/** What a client sent, and what it got. */
export interface Exchange {
  readonly path: string;
  /** When the whole request was there, and when its response was. */
  readonly atMs: number;
  readonly answeredAtMs: number;
  readonly isGzip: boolean;
  readonly sent: readonly Sent[];
  /** When the client sent it, as it says itself. */
  readonly sentAt: string | undefined;
  /** 0: the connection was cut, because no collector listens. */
  readonly status: number;
  /** Messages that the collector did not have yet. A client that waited for the response in vain sends them again. */
  readonly accepted: number;
  readonly rejected: readonly string[];
}

/** Responds in place of the collector. */
export interface Trouble {
  readonly status: number;
  readonly retryAfter?: number;
  /** How often. */
  readonly times: number;
}

/** A door to the collector for one client, which can be in trouble and remembers every request. */
export interface Front {
  readonly url: string;
  readonly exchanges: readonly Exchange[];
  close(): void;
}

export async function startFront(collectorUrl: string, trouble?: Trouble): Promise<Front> {
  const exchanges: Exchange[] = [];
  let troubles = trouble?.times ?? 0;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const atMs = Date.now();
    const isGzip = request.headers["content-encoding"] === "gzip";
    const whole = parseExact((isGzip ? gunzipSync(body) : body).toString() || "{}") as Sent;
    const sent = (whole.batch as Sent[] | undefined) ?? [whole];
    const note = (
      status: number,
      answer: { accepted?: number; duplicates?: number; rejected?: { code: string }[] } = {},
    ) =>
      exchanges.push({
        path: request.url ?? "",
        atMs,
        answeredAtMs: Date.now(),
        isGzip,
        sent,
        sentAt: (whole.sentAt ?? whole.sent_at ?? sent[0]?.sentAt) as string | undefined,
        status,
        accepted: status === 200 ? (answer.accepted ?? 1) - (answer.duplicates ?? 0) : 0,
        rejected: (answer.rejected ?? []).map(({ code }) => code),
      });
    if (trouble !== undefined && troubles-- > 0) {
      note(trouble.status);
      const headers = trouble.retryAfter === undefined ? {} : { "retry-after": String(trouble.retryAfter) };
      response.writeHead(trouble.status, { ...headers, "content-type": "application/json" });
      response.end('{"success":false,"code":"in_trouble","message":"in_trouble"}');
      return;
    }
    const { method = "POST", headers } = request;
    const forwarded = httpRequest(collectorUrl + request.url, { method, headers }, async (answer) => {
      const parts: Buffer[] = [];
      for await (const part of answer) parts.push(part as Buffer);
      const text = Buffer.concat(parts);
      note(answer.statusCode ?? 0, JSON.parse(text.toString() || "{}"));
      response.writeHead(answer.statusCode ?? 0, answer.headers).end(text);
    });
    forwarded.on("error", () => {
      note(0);
      response.destroy();
    });
    forwarded.end(body);
  }

  // A client that gives up waiting cuts its connection.
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exchanges,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
