import { AdminError } from "@sluice/admin-client";
import { CommandFailure } from "../../../failures.js";

/** Gives each id a number, so that a report can tell things apart without naming them. */
export class Aliases {
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  /** `source-1` for the first id of the kind `source`; the same id always gets the same alias. */
  of(kind: string, id: string): string {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    const alias = `${kind}-${count}`;
    this.#known.set(id, alias);
    return alias;
  }
}

const CODE = /^[A-Z][A-Z0-9_]{2,40}$/;

/** A short code for an error. Its message could contain addresses, paths and names. */
export function failureCode(error: unknown): string {
  if (error instanceof AdminError) return `http_${error.status}`;
  if (error instanceof CommandFailure) return error.exit;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { readonly code?: unknown };
    if (typeof code === "string" && CODE.test(code)) return code;
  }
  return error instanceof Error && /^[A-Za-z]{1,40}$/.test(error.name) ? error.name : "unknown";
}

/** The code that a text of the operating system or of the database begins with, such as `ENOSPC`. */
export function codeInText(text: string): string {
  return /\b(?:E[A-Z0-9]{2,20}|(?:ERR_)?SQLITE_[A-Z_]{1,40})\b/.exec(text)?.[0] ?? "other";
}
