import { throwFailure } from "./backup-folder.js";
import { type BackupManifest, decodeManifest, entryKind, UnusableBackup } from "./manifest.js";
import { readTar } from "./tar.js";

/** Passes an archive on as it comes, and checks that it is complete. Returns its manifest. */
export async function passedArchive(
  archive: AsyncIterable<Uint8Array>,
  write: (bytes: Uint8Array) => Promise<void>,
): Promise<BackupManifest> {
  const passing = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of archive) {
      await write(chunk);
      yield chunk;
    }
  };
  let manifest: BackupManifest | undefined;
  for await (const entry of readTar(passing())) {
    if (entryKind(entry.name)?.kind === "manifest") manifest = decodeManifest(entry.bytes, "the manifest");
    else throwFailure(entry);
  }
  if (manifest === undefined) throw new UnusableBackup("the backup has no manifest");
  return manifest;
}
