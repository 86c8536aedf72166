import type { SourceView } from "@sluice/control-api";

/** The placeholder in snippets if the token cannot see write keys. */
export const NO_KEY = "WRITE_KEY";

/** The newest write key of a source, for snippets. A read-only token sees none. */
export function newestKey(source: SourceView | undefined): string {
  const newest = source?.writeKeys.at(-1);
  return newest === undefined || newest.isMasked ? NO_KEY : newest.key;
}
