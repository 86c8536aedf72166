import type { StoreErrorCode } from "../../ports/errors.js";

/** The document that caused a conflict, with its current version. */
export interface ConflictingDocument {
  readonly kind: string;
  readonly id: string;
  readonly version: number;
}

/** A call that cannot be done. It is undone, and the other calls of its commit go on. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: StoreErrorCode;
  readonly current: ConflictingDocument | undefined;

  constructor(code: StoreErrorCode, detail: string, current?: ConflictingDocument) {
    super(detail);
    this.code = code;
    this.current = current;
  }
}
