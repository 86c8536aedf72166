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
