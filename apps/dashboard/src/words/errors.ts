import { AdminError, AdminUnreachable } from "@sluice/admin-client";

/** An issue that the API reported, with the field. */
export interface FieldIssue {
  /** For example `settings.webhooks[0].url`. */
  readonly path: string;
  readonly message: string;
}

/** Messages of the schema validator, in words for a form. */
const PLAIN: readonly (readonly [RegExp, string])[] = [
  [/^Expected string length greater or equal to 1$/, "Enter a value."],
  [/^Expected string length less or equal to (\d+)$/, "Enter at most $1 characters."],
  [
    /^Expected (?:number|integer) to be (?:greater|less) (?:than|or equal to) .*$/,
    "This number is out of range.",
  ],
  [/^Expected integer$/, "Enter a whole number."],
  [/^Expected number$/, "Enter a number."],
  [/^Expected union value$/, "Enter a valid value."],
];

/** The issues of a refused request. */
export function issuesOf(error: unknown): readonly FieldIssue[] {
  const details = (error as { details?: { issues?: unknown } } | null)?.details;
  const issues = Array.isArray(details?.issues) ? (details.issues as FieldIssue[]) : [];
  return issues.map((issue) => ({ ...issue, message: plainMessage(issue.message) }));
}

function plainMessage(message: string): string {
  const found = PLAIN.find(([pattern]) => pattern.test(message));
  return found === undefined ? message : message.replace(...found);
}

export function issueAt(issues: readonly FieldIssue[], path: string): string | undefined {
  return issues.find((issue) => issue.path === path || issue.path === `settings.${path}`)?.message;
}

/** Whether fields of the form show all that was wrong, so that the error needs no other place. */
export function isShownAtFields(error: unknown, hasField: (path: string) => boolean): boolean {
  const issues = issuesOf(error);
  return issues.length > 0 && issues.every(({ path }) => hasField(path));
}

/** The paths that the forms of destinations have a field for: names, times, settings, and each webhook's URL and headers. */
export function isDestinationField(path: string): boolean {
  if (["name", "transformationId", "retryForMs", "notifyAfterMs"].includes(path)) return true;
  if (/^settings\.\w+(?:\.\w+)?$/.test(path)) return path !== "settings.webhooks";
  return /^settings\.webhooks\[\d+\](?:\.url|\.headers\[.+\])?$/.test(path);
}

interface ErrorWords {
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
