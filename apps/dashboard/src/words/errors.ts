import { AdminError, AdminUnreachable } from "@sluice/admin-client";

export interface ErrorWords {
  readonly title: string;
  readonly detail?: string;
  /** The API's error code. */
  readonly code?: string;
  /** Ids of the definitions that the detail ends with. */
  readonly about?: readonly string[];
}

/** Titles that are clearer here than the API's message. */
const TITLES: Readonly<Record<string, string>> = {
  unauthorized: "This token is not valid",
  forbidden: "This token is read-only",
  not_found: "Not found",
  precondition_failed: "This was changed after you opened it",
  rate_limited: "Too many requests. Wait a moment",
  storage_unavailable: "The collector cannot write to its disk",
  overloaded: "The collector is overloaded",
  payload_too_large: "The request is too large",
};

export function errorWords(error: unknown): ErrorWords {
  if (error instanceof AdminUnreachable) {
    return {
      title: "The collector cannot be reached",
      detail: "Check that it is running. The page retries automatically.",
    };
  }
  if (error instanceof AdminError) {
    const detail = error.message.replace(`${error.code}: `, "");
    if (error.code === "conflict") return { ...conflictWords(error, detail), code: error.code };
    const title = TITLES[error.code];
    if (title === undefined || title === detail) return { title: detail, code: error.code };
    return { title, detail, code: error.code };
  }
  return {
    title: "Something went wrong on this page",
    detail: error instanceof Error ? error.message : String(error),
  };
}

/** A conflict in words, from the details of the answer. */
function conflictWords({ details }: AdminError, detail: string): ErrorWords {
  const { version, key, id, audienceIds } = details;
  if (typeof version === "number") {
    return {
      title: "This was changed after you opened it",
      detail: "The page now shows the latest version. Check it, then try again.",
    };
  }
  if (typeof key === "string" && typeof id === "string") {
    return {
      title: `The trait ${key} already exists`,
      detail: "Audiences and computed traits need different trait names. Used by",
      about: [id],
    };
  }
  if (Array.isArray(audienceIds)) {
    return {
      title: "Other audiences depend on it",
      detail: "Remove it from their conditions first:",
      about: audienceIds.map(String),
    };
  }
  return { title: `${detail.charAt(0).toUpperCase()}${detail.slice(1)}` };
}
