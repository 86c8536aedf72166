import { AdminError, AdminUnreachable } from "@sluice/admin-client";

export interface ErrorWords {
  readonly title: string;
  readonly detail?: string;
  /** The API's own code, for whoever looks it up. */
  readonly code?: string;
}

/** Codes that deserve better words than the API's message. */
const TITLES: Readonly<Record<string, string>> = {
  unauthorized: "This token is not valid any more",
  forbidden: "This token may only read",
  not_found: "It is not there, or not any more",
  conflict: "It has changed since you opened it, or exists already",
  precondition_failed: "Somebody changed it since you opened it",
  rate_limited: "Too many requests; wait a moment",
  storage_unavailable: "The collector cannot write to its disk",
  overloaded: "The collector is overloaded",
  payload_too_large: "That is more than the collector takes at once",
};

export function errorWords(error: unknown): ErrorWords {
  if (error instanceof AdminUnreachable) {
    return {
      title: "The collector does not answer",
      detail: "Is it still running? The page tries again by itself.",
    };
  }
  if (error instanceof AdminError) {
    const detail = error.message.replace(`${error.code}: `, "");
    const title = TITLES[error.code];
    if (title === undefined || title === detail) return { title: detail, code: error.code };
    return { title, detail, code: error.code };
  }
  return {
    title: "Something in this page went wrong",
    detail: error instanceof Error ? error.message : String(error),
  };
}
