import { AdminError, AdminUnreachable } from "@sluice/admin-client";

export interface ErrorWords {
  readonly title: string;
  readonly detail?: string;
  /** The API's own code, for whoever looks it up. */
  readonly code?: string;
  /** Ids of things that the sentence ends with. */
  readonly about?: readonly string[];
}

/** Codes that deserve better words than the API's message. */
const TITLES: Readonly<Record<string, string>> = {
  unauthorized: "This token is not valid any more",
  forbidden: "This token may only read",
  not_found: "It is not there, or not any more",
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
    if (error.code === "conflict") return { ...conflictWords(error, detail), code: error.code };
    const title = TITLES[error.code];
    if (title === undefined || title === detail) return { title: detail, code: error.code };
    return { title, detail, code: error.code };
  }
  return {
    title: "Something in this page went wrong",
    detail: error instanceof Error ? error.message : String(error),
  };
}

/** What stands in the way, by what the answer says besides its code. */
function conflictWords({ details }: AdminError, detail: string): ErrorWords {
  const { version, key, id, audienceIds } = details;
  if (typeof version === "number") {
    return {
      title: "Somebody changed it since you opened it",
      detail: "It is shown as it is now; look at it, then try again.",
    };
  }
  if (typeof key === "string" && typeof id === "string") {
    return {
      title: `The trait ${key} exists already`,
      detail: "Audiences and computed traits need names that differ. It is sent by",
      about: [id],
    };
  }
  if (Array.isArray(audienceIds)) {
    return {
      title: "Other audiences depend on it",
      detail: "Take it out of their conditions first:",
      about: audienceIds.map(String),
    };
  }
  return { title: `${detail.charAt(0).toUpperCase()}${detail.slice(1)}` };
}
