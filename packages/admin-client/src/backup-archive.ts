import { AdminUnreachable } from "./admin-error.js";
import { type AdminClientOptions, send } from "./request.js";

export interface BackupOptions {
  /** The field of that name of `POST /backups`. */
  readonly known: string;
  readonly signal: AbortSignal;
}

/** The archive's bytes as they arrive. Ends with an error if the connection does. */
export async function backupArchive(
  options: AdminClientOptions,
  { known, signal }: BackupOptions,
): Promise<AsyncIterable<Uint8Array>> {
  const { body } = await send(options, "POST", "/backups", { body: { known }, signal });
  if (body === null) throw new AdminUnreachable(options.url, "the backup has no body");
  return body;
}
