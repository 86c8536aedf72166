import { type Batch, reasonOf } from "@sluice/core";
import { builtIns, builtInsNow } from "./built-ins.js";
import { type SpoolDirectory, type SpoolDirectoryOptions, spoolDirectory } from "./spool-directory.js";

/** The spool of a client, on runtimes that have a disk; on others, one that says why it keeps nothing. */
export function lazySpool(options: SpoolDirectoryOptions): SpoolDirectory {
  const now = builtInsNow();
  let directory = now && spoolDirectory(options, now);
  let failure = "it is not open";
  const cannot = () => ({ reason: `The spool cannot keep the batch: ${failure}` });
  return {
    get messages() {
      return directory?.messages ?? 0;
    },
    async open() {
      try {
        directory ??= spoolDirectory(options, await builtIns());
        await directory.open();
      } catch (error) {
        failure = reasonOf(error);
      }
    },
    append: async (batch: Batch) => directory?.append(batch) ?? cannot(),
    appendNow: (batch: Batch) => directory?.appendNow(batch) ?? cannot(),
    oldest: async () => directory?.oldest(),
  };
}
