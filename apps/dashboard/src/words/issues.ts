/** An issue that the API reported, with the field. */
export interface FieldIssue {
  /** For example `settings.webhooks[0].url`. */
  readonly path: string;
  readonly message: string;
}

/** The issues of a refused request. */
export function issuesOf(error: unknown): readonly FieldIssue[] {
  const details = (error as { details?: { issues?: unknown } } | null)?.details;
  return Array.isArray(details?.issues) ? (details.issues as FieldIssue[]) : [];
}

export function issueAt(issues: readonly FieldIssue[], path: string): string | undefined {
  return issues.find((issue) => issue.path === path || issue.path === `settings.${path}`)?.message;
}
