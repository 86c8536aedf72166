import { ConfigError } from "@sluice/core";
import type { Runtime } from "../platform/runtime.js";
import { edgePlatform } from "./edge-platform.js";

/** Runtimes without files, signals and the end of a process. */
export const edgeRuntime: Runtime = {
  platform: edgePlatform,
  checkOptions: ({ spool, flushOnSignals }) => {
    if (spool) throw new ConfigError("spool", "needs files, which this runtime does not have", spool);
    if (flushOnSignals) {
      throw new ConfigError(
        "flushOnSignals",
        "needs signals, which this runtime does not have",
        flushOnSignals,
      );
    }
  },
  watchEnd: () => () => {},
};
