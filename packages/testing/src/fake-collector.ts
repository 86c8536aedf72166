import { answerRequest, type IngestAnswer, type IngestRequest, textOf } from "./answer-request.js";
import { type Fault, type FaultScript, faultScript } from "./faults.js";
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
