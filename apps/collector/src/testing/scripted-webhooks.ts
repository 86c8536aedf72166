import type { Clock } from "@sluice/resilience";
import type { Exchange, OpenEndpoint } from "../sender/endpoint.js";

/** A request that a scripted webhook received. */
export interface ScriptedRequest {
  /** By the collector's clock. */
  readonly atMs: number;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly messageId: string;
  /** `X-Attempt`, from 1. */
  readonly attempt: number;
}

/**
 * How a webhook responds: with a status, with a body or `Retry-After`, after a latency, never (`hang`: the collector's timeout ends the
 * request), or by closing the connection (`reset`).
 */
export type ScriptedAnswer =
  | number
  | "hang"
  | "reset"
  | {
      readonly status: number;
      readonly retryAfter?: string;
      readonly body?: string;
      /** Headers of the response; recorded if the status is 300 or more. */
      readonly headers?: Readonly<Record<string, string>>;
      /** Default: 0. */
      readonly latencyMs?: number;
    };

export type WebhookScript = ScriptedAnswer | ((request: ScriptedRequest) => ScriptedAnswer);

/** Webhooks without a network. They respond by script, and record their requests. */
export interface ScriptedWebhooks {
  /** Every request so far, in order. */
  readonly requests: readonly ScriptedRequest[];
  /** Sets how the webhook at `url` responds from now on. Without a script it responds with 200. */
  script(url: string, script: WebhookScript): void;
}

/** The webhooks, and the `openEndpoint` option that connects a collector to them. */
export function scriptedWebhooks(clock: Clock): ScriptedWebhooks & { readonly openEndpoint: OpenEndpoint } {
  const requests: ScriptedRequest[] = [];
  const scripts = new Map<string, WebhookScript>();

  const openEndpoint: OpenEndpoint = ({ url, timeoutMs }) => {
    const pending = new Set<() => void>();
    return {
      post(headerList, body) {
        const request = scriptedRequest(clock.now(), url, headerList, body);
        requests.push(request);
        const script = scripts.get(url) ?? 200;
        const answer = typeof script === "function" ? script(request) : script;
        return new Promise((resolve) => {
          const { afterMs, exchange } = play(answer, timeoutMs);
          const end = (ended: Exchange): void => {
            pending.delete(abort);
            cancel();
            resolve(ended);
          };
          const abort = (): void =>
            end({ kind: "failed", failure: { code: "aborted", message: "stopped" }, latencyMs: 0 });
          pending.add(abort);
          let cancel = (): void => {};
          if (afterMs === 0) setImmediate(() => pending.has(abort) && end(exchange));
          else cancel = clock.after(afterMs, () => end(exchange));
        });
      },
      async close() {
        for (const abort of pending) abort();
      },
    };
  };

  return {
    requests,
    script: (url, script) => void scripts.set(new URL(url).href, script),
    openEndpoint,
  };
}

function scriptedRequest(
  atMs: number,
  url: string,
  headerList: readonly string[],
  body: Uint8Array,
): ScriptedRequest {
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < headerList.length; index += 2) {
    headers[String(headerList[index]).toLowerCase()] = String(headerList[index + 1]);
  }
  return {
    atMs,
    url,
    headers,
    body: new TextDecoder().decode(body),
    messageId: headers["x-message-id"] ?? "",
    attempt: Number(headers["x-attempt"]),
  };
}

function play(
  answer: ScriptedAnswer,
  timeoutMs: number,
): { readonly afterMs: number; readonly exchange: Exchange } {
  const timeout: Exchange = {
    kind: "failed",
    failure: { code: "timeout", message: `No complete answer within ${timeoutMs} ms` },
    latencyMs: timeoutMs,
  };
  if (answer === "hang") return { afterMs: timeoutMs, exchange: timeout };
  if (answer === "reset") {
    const failure = { code: "connection_lost", message: "The receiver closed the connection" } as const;
    return { afterMs: 0, exchange: { kind: "failed", failure, latencyMs: 0 } };
  }
  const {
    status,
    retryAfter,
    body = "",
    headers = {},
    latencyMs = 0,
  } = typeof answer === "number" ? { status: answer } : answer;
  if (latencyMs >= timeoutMs) return { afterMs: timeoutMs, exchange: timeout };
  return {
    afterMs: latencyMs,
    exchange: {
      kind: "answered",
      status,
      ...(retryAfter === undefined ? {} : { retryAfter }),
      ...(status < 300 ? {} : { headers: Object.entries(headers).flat() }),
      body,
      latencyMs,
    },
  };
}
