import type { StoreErrorCode } from "../../ports/errors.js";

/** A request that cannot be met, found out before anything of it was written: the others of its commit go on. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: StoreErrorCode;
  /** The version of the document that was in the way. */
  readonly current: number | undefined;

  constructor(code: StoreErrorCode, detail: string, current?: number) {
    super(detail);
    this.code = code;
    this.current = current;
  }
}
