/** The error code and the general sentence that the collector puts before the reason. */
const CODE_AND_SUMMARY = /^storage_unavailable: [^:]*: /;

/** The reason why a data folder cannot be opened, with a hint. Undefined for every other error. */
export function storeFailure(
  error: unknown,
): { readonly message: string; readonly hint?: string } | undefined {
  if (!(error instanceof Error) || !CODE_AND_SUMMARY.test(error.message)) return undefined;
  const reason = error.message.replace(CODE_AND_SUMMARY, "");
  const message = `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}`;
  if (isFolderInUse(error))
    return {
      message,
      hint: "Stop the collector that uses it first, or choose another folder with --data-dir",
    };
  return { message };
}

/** Whether another process uses the data folder: `FOLDER_IN_USE` of the event log. */
export function isFolderInUse(error: unknown): boolean {
  const { details } = (error ?? {}) as { readonly details?: { readonly reason?: unknown } };
  return details?.reason === "folder_in_use";
}
