import type { Abandoned } from "./outcome.js";

/** Which deadline passed: that of `close()`, or that of a process that ends. */
export type DeadlineCode = "close_deadline" | "exit_deadline";

/** The reason of the signal that ends all sending. */
export class DeadlineReached extends Error {
  readonly code: DeadlineCode;

  constructor(code: DeadlineCode) {
    super(code);
    this.code = code;
  }
}

/** The outcome of a batch whose signal has aborted. */
export function abandonedBy(signal: AbortSignal): Abandoned {
  const reason: unknown = signal.reason;
  return { kind: "abandoned", deadline: reason instanceof DeadlineReached ? reason.code : "close_deadline" };
}
