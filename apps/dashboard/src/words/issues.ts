/** One thing that the API found wrong, and where. */
export interface FieldIssue {
  /** Such as `settings.webhooks[0].url`. */
  readonly path: string;
  readonly message: string;
}

/** What the API found wrong with what was sent, by field. */
export function issuesOf(error: unknown): readonly FieldIssue[] {
  const details = (error as { details?: { issues?: unknown } } | null)?.details;
  return Array.isArray(details?.issues) ? (details.issues as FieldIssue[]) : [];
}

export function issueAt(issues: readonly FieldIssue[], path: string): string | undefined {
  return issues.find((issue) => issue.path === path || issue.path === `settings.${path}`)?.message;
}
