import { existsSync } from "node:fs";
import { join } from "node:path";
import { LOG_FILE } from "../../file-log/file-log.js";
import { STORE_DEFAULTS, TUNING_DEFAULTS } from "../calls/tuning.js";
import { OpenStore } from "./open-store.js";
import type { Opening } from "./opening.js";

/**
 * Brings the database of a collector that does not run up to the end of its log, for those who read the database alone. A crash leaves such
 * a log. `leftOut`: see `Opening`. Throws a `CannotOpen`.
 */
export function applyLog(directory: string, leftOut?: Opening["leftOut"]): void {
  if (!existsSync(join(directory, LOG_FILE))) return;
  const opening: Opening = {
    damaged: () => {},
    isFirst: true,
    isCareful: false,
    ...(leftOut && { leftOut }),
  };
  OpenStore.open({ ...STORE_DEFAULTS, directory, tuning: TUNING_DEFAULTS }, opening).close();
}
