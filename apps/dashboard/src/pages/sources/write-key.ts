import type { SourceView } from "@sluice/protocol";

/** What stands in snippets where the session may not see write keys. */
export const NO_KEY = "WRITE_KEY";

/** The newest write key of a source, for snippets; a token that may only read sees none. */
export function newestKey(source: SourceView | undefined): string {
  const newest = source?.writeKeys.at(-1);
  return newest === undefined || newest.isMasked ? NO_KEY : newest.key;
}
