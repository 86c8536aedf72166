const REFUSED_TO_OPEN = "storage_unavailable: The event log cannot be written: ";

/** Why a data folder could not be opened, and what to do: of the folder's own failures only; undefined for all others. */
export function storeFailure(
  error: unknown,
): { readonly message: string; readonly hint?: string } | undefined {
  if (!(error instanceof Error) || !error.message.startsWith(REFUSED_TO_OPEN)) return undefined;
  const reason = error.message.slice(REFUSED_TO_OPEN.length);
  const message = `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}`;
  if (reason.includes("in use by another process"))
    return { message, hint: "A collector runs on it: stop that one first, or name another folder" };
  return { message };
}
