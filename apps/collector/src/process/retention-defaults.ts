import { statfs } from "node:fs/promises";
import type { RetentionOptions } from "@sluice/event-log";
import { KB } from "@sluice/protocol";
import type { CollectorConfig } from "./config.js";
import type { Logger } from "./logger.js";

/** `auto` takes this much of the volume, and no more than this many bytes. */
const AUTO_SHARE = 0.5;
const MOST_AUTO_BYTES = 50 * KB ** 3;
/** The least that may be set: a volume may be tiny. */
const LEAST_BYTES = 10 * KB * KB;

/** What `retentionMs` and `retentionBytes` come to on the volume of a folder, which must exist. */
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
  return Math.max(LEAST_BYTES, Math.min(MOST_AUTO_BYTES, Math.floor(blocks * bsize * AUTO_SHARE)));
}

/** Says what is removed and when: nobody should find out by looking for a message. */
export function announceRetention(logger: Logger, { maxAgeMs, maxBytes }: RetentionOptions): void {
  if (maxAgeMs === undefined && maxBytes === undefined) return;
  logger.info("older messages are removed", {
    ...(maxAgeMs === undefined ? {} : { retentionMs: maxAgeMs }),
    ...(maxBytes === undefined ? {} : { retentionBytes: maxBytes }),
    change: "retentionMs and retentionBytes in the configuration; `none` keeps everything",
  });
}
