/** What happens to one request instead of the usual answer. */
export type Fault =
  /** Answered with this status; nothing of the request is kept. `retryAfter` is the header's value: seconds, or a date. */
  | { readonly status: number; readonly retryAfter?: string | number; readonly body?: string }
  /** The connection is reset before an answer; nothing of the request is kept. */
  | "reset"
  /** Everything is kept as if the answer were 200, and then the connection is reset. */
  | "accept_then_reset"
  /** No answer comes; nothing of the request is kept. */
  | "hang"
  /** No fault: this request is answered as usual. */
  | "pass";

/** Faults in the order in which requests meet them. */
export interface FaultScript {
  /** Adds faults behind those that wait: one a request. */
  add(...faults: readonly Fault[]): void;
  /** Every request meets this fault, until `clear()`. Faults that wait come first. */
  always(fault: Fault): void;
  /** From here on requests are answered as usual. */
  clear(): void;
}

export function faultScript(): FaultScript & { next(): Fault } {
  let waiting: Fault[] = [];
  let standing: Fault = "pass";
  return {
    add: (...faults) => {
      waiting.push(...faults);
    },
    always: (fault) => {
      standing = fault;
    },
    clear: () => {
      waiting = [];
      standing = "pass";
    },
    next: () => waiting.shift() ?? standing,
  };
}
