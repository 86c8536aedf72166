import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { definedFields } from "../arguments.js";

/** The file in the data folder that holds the addresses while a collector runs. */
export const LISTENING_FILE = "listening.json";

export interface Listening {
  /** Where messages are sent. */
  readonly url: string;
  /** Where the control API is, if that is another address. */
  readonly adminUrl?: string;
}

/** Writes the addresses of a running collector for the other commands. The result removes the file. */
export async function announceListening(
  dataDirectory: string,
  { url, adminUrl }: Listening,
): Promise<() => Promise<void>> {
  const file = join(dataDirectory, LISTENING_FILE);
  const content = {
    url,
    ...definedFields({ adminUrl: adminUrl === url ? undefined : adminUrl }),
    pid: process.pid,
  };
  // A symbolic link that came with a repository would redirect the write, so an existing file is removed first.
  await rm(file, { force: true });
  await writeFile(file, `${JSON.stringify(content)}\n`, { mode: 0o600, flag: "wx" });
  return () => rm(file, { force: true });
}
