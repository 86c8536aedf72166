import { randomUUID } from "node:crypto";

export const REQUEST_ID_HEADER = "x-request-id";

/** Characters that are safe in headers, log lines, and shells. */
const VALID = /^[A-Za-z0-9][A-Za-z0-9._:+=/@-]{0,127}$/;

/** The id of a request: the one that the client or a proxy gave, if it is valid, or a new one. */
export function requestIdOf(given: string | readonly string[] | undefined): string {
  return typeof given === "string" && VALID.test(given) ? given : randomUUID();
}
