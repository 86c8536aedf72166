import { statfs } from "node:fs/promises";
import type { RetentionOptions } from "@sluice/event-log";
import { KB } from "@sluice/protocol";
import type { CollectorConfig } from "./settings.js";
import type { Logger } from "./telemetry/logger.js";

/** `auto`: this share of the volume, but at most this many bytes. */
const AUTO_SHARE = 0.5;
const MAX_AUTO_BYTES = 50 * KB ** 3;
/** The lowest setting, for tiny volumes. */
const MIN_BYTES = 10 * KB * KB;

/** Resolves the settings `retentionMs` and `retentionBytes` for the volume of a folder, which must exist. */
export async function resolveRetention(
  { retentionMs, retentionBytes }: Pick<CollectorConfig, "retentionMs" | "retentionBytes">,
  folder: string,
): Promise<RetentionOptions> {
  const maxBytes = retentionBytes === "auto" ? await autoBytes(folder) : retentionBytes;
  return {
    ...(retentionMs === "none" ? {} : { maxAgeMs: retentionMs }),
    ...(maxBytes === "none" ? {} : { maxBytes }),
  };
}

async function autoBytes(folder: string): Promise<number> {
  const { blocks, bsize } = await statfs(folder);
  return Math.max(MIN_BYTES, Math.min(MAX_AUTO_BYTES, Math.floor(blocks * bsize * AUTO_SHARE)));
}

/** Logs the retention limits, so that nobody learns of them by missing a message. */
export function announceRetention(logger: Logger, { maxAgeMs, maxBytes }: RetentionOptions): void {
  if (maxAgeMs === undefined && maxBytes === undefined) return;
  logger.info("older messages are removed", {
    ...(maxAgeMs === undefined ? {} : { retentionMs: maxAgeMs }),
    ...(maxBytes === undefined ? {} : { retentionBytes: maxBytes }),
    change: "set retentionMs and retentionBytes in the configuration; `none` keeps everything",
  });
}
