import { type Batch, reasonOf } from "@sluice/core";
import { builtIns, builtInsNow } from "./built-ins.js";
import { SpoolDirectory, type SpoolDirectoryOptions, type SyncSpool } from "./spool-directory.js";

/** The spool of a client. On runtimes without a file system every `append` fails with the reason. */
export function lazySpool(options: SpoolDirectoryOptions): SyncSpool {
  const now = builtInsNow();
  let directory = now && new SpoolDirectory(options, now);
  let failure = "it is not open";
  const cannotKeep = () => ({ reason: `The spool cannot keep the batch: ${failure}` });
  return {
    get messages() {
      return directory?.messages ?? 0;
    },
    async open() {
      try {
        directory ??= new SpoolDirectory(options, await builtIns());
        await directory.open();
      } catch (error) {
        failure = reasonOf(error);
      }
    },
    append: async (batch: Batch) => directory?.append(batch) ?? cannotKeep(),
    appendNow: (batch: Batch) => directory?.appendNow(batch) ?? cannotKeep(),
    oldest: async () => directory?.oldest(),
    release: async () => directory?.release(),
  };
}
