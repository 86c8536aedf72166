/** Why sending ended early: the deadline of `close()`, that of a process that ends, or because the application discarded the messages. */
export type DeadlineCode = "close_deadline" | "exit_deadline" | "discarded";

/** The deadline passed before the batch was delivered. */
export interface Abandoned {
  readonly kind: "abandoned";
  readonly deadline: DeadlineCode;
}

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
