import { type Batch, reasonOf } from "@sluice/core";
import type { SpoolDirectory, SpoolDirectoryOptions } from "./spool-directory.js";

/** The spool of a client: the code that touches the disk is loaded when it is opened, by the few clients that have one. */
export function lazySpool(options: SpoolDirectoryOptions): SpoolDirectory {
  let loaded: SpoolDirectory | undefined;
  let failure = "it is not open";
  return {
    get messages() {
      return loaded?.messages ?? 0;
    },
    async open() {
      try {
        const { spoolDirectory } = await import("./spool-directory.js");
        const directory = spoolDirectory(options);
        await directory.open();
        loaded = directory;
      } catch (error) {
        failure = reasonOf(error);
      }
    },
    append: async (batch: Batch) =>
      loaded?.append(batch) ?? { reason: `The spool cannot keep the batch: ${failure}` },
    appendNow: (batch: Batch) => loaded?.appendNow(batch) ?? false,
    oldest: async () => loaded?.oldest(),
  };
}
