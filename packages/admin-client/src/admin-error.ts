/** The collector answered with an error. */
export class AdminError extends Error {
  override readonly name = "AdminError";
  /** One of the codes in `docs/reference/errors.md`, such as `not_found`. */
  readonly code: string;
  /** The HTTP status. */
  readonly status: number;
  /** The response's body. */
  readonly details: { readonly [name: string]: unknown };

  constructor(status: number, details: { readonly [name: string]: unknown }) {
    const code = typeof details.code === "string" ? details.code : "unknown";
    super(typeof details.message === "string" ? details.message : `The collector answered ${status}`);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** No control API answers at the URL. */
export class AdminUnreachable extends Error {
  override readonly name = "AdminUnreachable";
  readonly url: string;

  constructor(url: string, reason: string, cause?: unknown) {
    super(`${url} cannot be reached: ${reason}`, { cause });
    this.url = url;
  }
}
