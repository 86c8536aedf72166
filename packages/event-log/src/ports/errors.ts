/** Every code that a call of the store can fail with. The store knows nothing about HTTP: callers map these codes to theirs. */
export const STORE_ERRORS = {
  invalid_request: "The request is not valid",
  not_found: "There is no such thing",
  payload_too_large: "The batch is over the limit",
  conflict: "It exists already, or has changed since it was read",
  not_in_force: "The change is stored and not in force yet: the collector goes on trying",
  data_damaged: "Stored data cannot be read",
  storage_unavailable: "The event log cannot be written",
  internal: "The event log failed",
} as const;

export type StoreErrorCode = keyof typeof STORE_ERRORS;

/** For these codes the detail says everything, so the message leaves out the general sentence above. */
const DETAIL_ALONE: ReadonlySet<StoreErrorCode> = new Set(["invalid_request", "not_found", "conflict"]);

/** A failed call of the store. The message starts with the code. */
export class StoreError extends Error {
  override readonly name: string = "StoreError";
  readonly code: StoreErrorCode;
  /** The message without code and sentence. Code and detail are enough to build the error again in another thread. */
  readonly detail: string | undefined;
  /** Facts for the caller, such as the version that a document has now. */
  readonly details: { readonly [name: string]: unknown };

  constructor(
    code: StoreErrorCode,
    detail?: string,
    options: { cause?: unknown; details?: { [name: string]: unknown } } = {},
  ) {
    super(`${code}: ${sentence(code, detail)}`, { cause: options.cause });
    this.code = code;
    this.detail = detail;
    this.details = options.details ?? {};
  }
}

function sentence(code: StoreErrorCode, detail: string | undefined): string {
  if (detail === undefined) return STORE_ERRORS[code];
  return DETAIL_ALONE.has(code) ? detail : `${STORE_ERRORS[code]}: ${detail}`;
}

/** The store cannot be used now. Nothing of the call was kept. */
export class StorageUnavailable extends StoreError {
  constructor(reason: string, cause?: unknown, details: { [name: string]: unknown } = {}) {
    super("storage_unavailable", reason, { cause, details });
  }
}

/** `details.reason` of the error for a data folder that another process uses. */
export const FOLDER_IN_USE = "folder_in_use";

/** Another process uses the data folder. */
export class FolderInUse extends StorageUnavailable {
  override readonly name: string = "FolderInUse";

  constructor(reason: string, cause?: unknown) {
    super(reason, cause, { reason: FOLDER_IN_USE });
  }
}

/** The change of a document was stored, but a part that depends on the document has not applied it yet. */
export class NotInForce extends StoreError {
  /** The document's id. */
  readonly id: string;

  constructor(id: string, reason: string, cause?: unknown) {
    super("not_in_force", `${id}: ${reason}`, { cause, details: { id } });
    this.id = id;
  }
}

/** The document changed since the caller read it. */
export class VersionConflict extends StoreError {
  /** The current version. */
  readonly current: number;

  constructor(kind: string, id: string, current: number) {
    super("conflict", `${kind} ${id} is at version ${current}`, { details: { version: current } });
    this.current = current;
  }
}
