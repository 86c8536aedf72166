/** The error code and the general sentence that the collector puts before the reason. */
const CODE_AND_SUMMARY = /^storage_unavailable: [^:]*: /;

/** The reason why a data folder cannot be opened, with a hint. Undefined for every other error. */
export function storeFailure(
  error: unknown,
): { readonly message: string; readonly hint?: string } | undefined {
  if (!(error instanceof Error) || !CODE_AND_SUMMARY.test(error.message)) return undefined;
  const reason = error.message.replace(CODE_AND_SUMMARY, "");
  const message = `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}`;
  if (reason.includes("in use by another process"))
    return {
      message,
      hint: "Stop the collector that uses it first, or choose another folder with --data-dir",
    };
  return { message };
}
