/** Describes an error on one line, with the cause that `fetch` hides behind "fetch failed". */
export function reasonOf(error: unknown): string {
  try {
    if (!(error instanceof Error)) return String(error);
    const cause: unknown = error.cause;
    const text = String(error.message || error.name);
    const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
    const named = code === undefined || text.includes(code) ? text : `${code}: ${text}`;
    return cause instanceof Error ? `${named}: ${reasonOf(cause)}` : named;
  } catch {
    // A thrown value may itself throw when it is converted to a string.
    return "an unprintable error";
  }
}
