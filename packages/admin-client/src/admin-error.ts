/** The collector answered with an error: its code, status and whatever else the answer said. */
export class AdminError extends Error {
  override readonly name = "AdminError";
  /** Of the catalogue of errors, such as `not_found`. */
  readonly code: string;
  /** The HTTP status. */
  readonly status: number;
  /** The answer's body. */
  readonly details: { readonly [name: string]: unknown };

  constructor(status: number, details: { readonly [name: string]: unknown }) {
    const code = typeof details.code === "string" ? details.code : "unknown";
    super(typeof details.message === "string" ? details.message : `The collector answered ${status}`);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** Nothing that speaks the control API answers at the address. */
export class AdminUnreachable extends Error {
  override readonly name = "AdminUnreachable";
  readonly url: string;

  constructor(url: string, reason: string, cause?: unknown) {
    super(`${url} cannot be reached: ${reason}`, { cause });
    this.url = url;
  }
}
