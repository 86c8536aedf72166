import { StorageUnavailable, StoreError, type StoreErrorCode } from "../../ports/errors.js";

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

/** A refusal as it travels. */
export interface Refused {
  readonly kind: "refused";
  readonly code: StoreErrorCode;
  readonly detail: string;
  readonly current: ConflictingDocument | undefined;
}

/** Any other error than a store's is a mistake in the code. */
export function refusedWith(error: unknown): Refused {
  if (error instanceof Refusal)
    return { kind: "refused", code: error.code, detail: error.message, current: error.current };
  if (!(error instanceof StoreError))
    return { kind: "refused", code: "internal", detail: String(error), current: undefined };
  const { code, detail = "", details } = error;
  const isConflict = typeof details.version === "number" && typeof details.kind === "string";
  const current = isConflict ? (details as unknown as ConflictingDocument) : undefined;
  return { kind: "refused", code, detail, current };
}

/** The error that the caller gets. */
export function errorOf({ code, detail, current }: Refused): StoreError {
  return code === "storage_unavailable"
    ? new StorageUnavailable(detail)
    : new StoreError(code, detail, { details: { ...current } });
}
