import type { StoreErrorCode } from "../../ports/errors.js";

/** A call that cannot be done. It is undone, and the other calls of its commit go on. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: StoreErrorCode;
  /** The current version of the document that caused a conflict. */
  readonly current: number | undefined;

  constructor(code: StoreErrorCode, detail: string, current?: number) {
    super(detail);
    this.code = code;
    this.current = current;
  }
}
