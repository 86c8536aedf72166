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

export function faultScript(): FaultScript & { next(): Fault } {
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
