import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { definedFields } from "../arguments.js";

/** Whether requests to a URL stay on this machine, in any notation of the address. Other names may resolve to anywhere. */
export function isLoopbackUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  // The URL parser normalizes `127.1`, `0x7f.1` and `[0:0::1]` to the forms below.
  return /^https?:$/.test(protocol) && LOOPBACK.test(hostname);
}

const LOOPBACK = /^(localhost\.?|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\])$/;

/** The file in the data folder that holds the addresses while a collector runs. */
export const LISTENING_FILE = "listening.json";

interface Listening {
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
