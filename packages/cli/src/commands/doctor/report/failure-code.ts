import { AdminError } from "@sluice/admin-client";
import { CommandFailure } from "../../../failures/exit-codes.js";

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
