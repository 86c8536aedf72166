import { answerRequest, type IngestAnswer, type IngestRequest, textOf } from "./answer-request.js";

import { type Recorder, recorder } from "./recorder.js";

export interface FakeCollectorOptions {
  /** The only valid write key. Default: every key is valid. */
  readonly writeKey?: string;
  /** Faults for the first requests, one each. */
  readonly faults?: readonly Fault[];
}

/** How the collector ends a request. */
export type Ending =
  | { readonly kind: "answer"; readonly answer: Omit<IngestAnswer, "kept"> }
  | { readonly kind: "reset" }
  | { readonly kind: "hang" };

/**
 * A collector in memory: it accepts and refuses the same messages as the real one, and shows what arrived. Connect it with `memoryTransport`,
 * `loopbackCollector`, `mswHandlers` (`@sluice/testing/msw`) or `mockAgent` (`@sluice/testing/undici`).
 *
 * @example
 * const collector = fakeCollector({ faults: [{ status: 503 }] });
 * const analytics = new Analytics({ writeKey: "k", transport: memoryTransport(collector) });
 * analytics.track({ userId: "u1", event: "Signed Up" });
 * await collector.waitFor({ event: "Signed Up" });
 */
export interface FakeCollector extends Recorder {
  readonly faults: FaultScript;
  /** Takes one request. Called by what connects the collector. */
  handle(request: IngestRequest): Ending;
}

export function fakeCollector(options: FakeCollectorOptions = {}): FakeCollector {
  const script = faultScript();
  script.add(...(options.faults ?? []));
  const record = recorder();

  const handle = (request: IngestRequest): Ending => {
    const { method, path, headers } = request;
    const note = (status: number): void =>
      record.request({ method, path, headers, status, body: textOf(request) ?? "" });
    const fault = script.next();
    if (fault === "reset" || fault === "hang") {
      note(0);
      return { kind: fault };
    }
    if (typeof fault === "object") {
      const { status, retryAfter, body = "" } = fault;
      note(status);
      const answerHeaders = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
      return { kind: "answer", answer: { status, headers: answerHeaders, body } };
    }
    const { kept, ...answer } = answerRequest(request, options.writeKey);
    note(fault === "accept_then_reset" ? 0 : answer.status);
    record.keep(kept);
    return fault === "accept_then_reset" ? { kind: "reset" } : { kind: "answer", answer };
  };

  return {
    handle,
    faults: script,
    waitFor: record.waitFor,
    clear: record.clear,
    get messages() {
      return record.messages;
    },
    get requests() {
      return record.requests;
    },
  };
}

/** What happens to a request instead of the usual answer. */
export type Fault =
  /** The answer has this status, and no message is kept. `retryAfter` is the value of the header: seconds, or a date. */
  | { readonly status: number; readonly retryAfter?: string | number; readonly body?: string }
  /** The connection is reset before an answer, and no message is kept. */
  | "reset"
  /** The messages are kept as usual, and then the connection is reset. */
  | "accept_then_reset"
  /** No answer comes, and no message is kept. */
  | "hang"
  /** No fault: the request is answered as usual. */
  | "pass";

/** The faults of the next requests. */
export interface FaultScript {
  /** Adds faults behind those that were added before. Each is used for one request. */
  add(...faults: readonly Fault[]): void;
  /** Uses this fault for every request until `clear()`. Faults of `add` are used first. */
  always(fault: Fault): void;
  /** Answers requests as usual from now on. */
  clear(): void;
}

function faultScript(): FaultScript & { next(): Fault } {
  let waiting: Fault[] = [];
  let permanent: Fault = "pass";
  return {
    add: (...faults) => {
      waiting.push(...faults);
    },
    always: (fault) => {
      permanent = fault;
    },
    clear: () => {
      waiting = [];
      permanent = "pass";
    },
    next: () => waiting.shift() ?? permanent,
  };
}
