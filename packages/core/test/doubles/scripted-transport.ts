import type { Transport, TransportOutcome, TransportRequest } from "../../src/index.js";

/** One request of the SDK. The test ends it. */
export interface OpenRequest {
  readonly request: TransportRequest;
  readonly signal: AbortSignal;
  readonly messageIds: readonly string[];
  readonly events: readonly unknown[];
  readonly sentAt: string;
  answer(status: number, options?: { retryAfter?: string; body?: string }): void;
  fail(reason: string): void;
}

export interface ScriptedTransport extends Transport {
  /** Every request, in order. */
  readonly requests: readonly OpenRequest[];
  readonly closed: boolean;
}

type Answer =
  | number
  | { readonly status: number; readonly retryAfter?: string; readonly body?: string }
  | "fail";

/**
 * A transport whose requests the test ends: by hand, in any order, or at once by `script`. The last entry of the script is used for all later
 * requests.
 */
export function scriptedTransport(script?: readonly Answer[]): ScriptedTransport {
  const requests: OpenRequest[] = [];
  let closed = false;
  return {
    requests,
    get closed() {
      return closed;
    },
    close: () => {
      closed = true;
    },
    send: (request, signal) =>
      new Promise<TransportOutcome>((resolve) => {
        const body = JSON.parse(String(request.body)) as {
          batch: { messageId: string; event?: unknown }[];
          sentAt: string;
        };
        const open: OpenRequest = {
          request,
          signal,
          messageIds: body.batch.map(({ messageId }) => messageId),
          events: body.batch.map(({ event }) => event),
          sentAt: body.sentAt,
          answer: (status, { retryAfter, body: text = "" } = {}) =>
            resolve({ kind: "answered", status, retryAfter, body: text }),
          fail: (reason) => resolve({ kind: "failed", reason }),
        };
        requests.push(open);
        const answer = script?.[Math.min(requests.length, script.length) - 1];
        if (answer === undefined) return;
        if (answer === "fail") open.fail("connection reset");
        else if (typeof answer === "number") open.answer(answer);
        else open.answer(answer.status, answer);
      }),
  };
}
