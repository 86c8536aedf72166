import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";

/** Writes a file atomically, and readable only by its owner from the first byte. It is there after a power cut. */
export async function writeDurably(file: string, text: string): Promise<void> {
  const draft = `${file}.new`;
  const handle = await open(draft, "w", 0o600);
  try {
    await handle.chmod(0o600);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  await syncFolder(dirname(file));
}

/** Syncs the names of a folder's files. Windows has no such call, and needs none. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
