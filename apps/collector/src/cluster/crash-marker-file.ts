import { readFileSync, rmSync, writeFileSync } from "node:fs";
import type { CrashMarkers } from "@sluice/audiences";
import { StorageUnavailable } from "@sluice/event-log";

/** In the data folder of a process of a cluster: the messages that it is about to count. */
export const CRASH_MARKER = "counting.json";

/**
 * Keeps the marker in a file of this process. It has to survive a crash of the process, but not of the machine, which no message causes:
 * so it is not synced.
 */
export function crashMarkerFile(file: string): CrashMarkers {
  return {
    load() {
      try {
        return JSON.parse(readFileSync(file, "utf8"));
      } catch {
        // There is none, or the process ended while it was written, and not while it counted.
        return undefined;
      }
    },
    save(marker) {
      try {
        if (marker === undefined) rmSync(file, { force: true });
        else writeFileSync(file, JSON.stringify(marker), { mode: 0o600 });
      } catch (error) {
        throw new StorageUnavailable(`${file} cannot be written: ${(error as Error).message}`, error);
      }
    },
  };
}
