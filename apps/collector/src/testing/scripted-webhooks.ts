import type { Clock } from "@sluice/resilience";
import type { Exchange, OpenEndpoint } from "../sender/endpoint.js";

/** A request that a scripted webhook got. */
export interface ScriptedRequest {
  /** The collector's clock. */
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
 * What a webhook does with a request: answers a status, answers with a body or `Retry-After`, takes a while for it, never
 * answers (`hang`: the collector's own deadline ends it), or breaks the connection (`reset`).
 */
export type ScriptedAnswer =
  | number
  | "hang"
  | "reset"
  | {
      readonly status: number;
      readonly retryAfter?: string;
      readonly body?: string;
      /** Default: 0. */
      readonly latencyMs?: number;
    };

export type WebhookScript = ScriptedAnswer | ((request: ScriptedRequest) => ScriptedAnswer);

/** Webhooks without a network: what they answer is written down, and what they got can be looked at. */
export interface ScriptedWebhooks {
  /** Every request so far, in order. */
  readonly requests: readonly ScriptedRequest[];
  /** What the webhook at `url` answers from now on; without a script it answers 200. */
  script(url: string, script: WebhookScript): void;
}

/** The webhooks, and what the collector is to be given to send through them. */
export function scriptedWebhooks(clock: Clock): ScriptedWebhooks & { readonly openEndpoint: OpenEndpoint } {
  const requests: ScriptedRequest[] = [];
  const scripts = new Map<string, WebhookScript>();

  const openEndpoint: OpenEndpoint = ({ url, timeoutMs }) => {
    const underWay = new Set<() => void>();
    return {
      post(headerList, body) {
        const headers: Record<string, string> = {};
        for (let index = 0; index + 1 < headerList.length; index += 2) {
          headers[String(headerList[index]).toLowerCase()] = String(headerList[index + 1]);
        }
        const request: ScriptedRequest = {
          atMs: clock.now(),
          url,
          headers,
          body: new TextDecoder().decode(body),
          messageId: headers["x-message-id"] ?? "",
          attempt: Number(headers["x-attempt"]),
        };
        requests.push(request);
        const script = scripts.get(url) ?? 200;
        const answer = typeof script === "function" ? script(request) : script;
        return new Promise((resolve) => {
          const { afterMs, exchange } = play(answer, timeoutMs);
          const end = (ended: Exchange): void => {
            underWay.delete(abort);
            cancel();
            resolve(ended);
          };
          const abort = (): void =>
            end({ kind: "failed", failure: { code: "aborted", message: "stopped" }, latencyMs: 0 });
          underWay.add(abort);
          let cancel = (): void => {};
          if (afterMs === 0) setImmediate(() => underWay.has(abort) && end(exchange));
          else cancel = clock.after(afterMs, () => end(exchange));
        });
      },
      async close() {
        for (const abort of underWay) abort();
      },
    };
  };

  return {
    requests,
    script: (url, script) => void scripts.set(new URL(url).href, script),
    openEndpoint,
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
    latencyMs = 0,
  } = typeof answer === "number" ? { status: answer } : answer;
  if (latencyMs >= timeoutMs) return { afterMs: timeoutMs, exchange: timeout };
  return {
    afterMs: latencyMs,
    exchange: {
      kind: "answered",
      status,
      ...(retryAfter === undefined ? {} : { retryAfter }),
      body,
      latencyMs,
    },
  };
}
