import type { Clock } from "@sluice/resilience";
import type { Copy } from "./copy.js";
import { EntriesTrimmed, type ReplicatedLog } from "./engine.js";

/** Entries that are on their way to the copy's thread at most. */
const MOST_UNDER_WAY = 8;
/** How long after a failure the log is read again, in milliseconds. */
const AGAIN_AFTER_MS = 200;

/** Why following ended: `stopped` on request; `trimmed`: the log no longer has the next entry. */
export type FollowEnd = "stopped" | "trimmed";

export interface FollowParts {
  readonly log: ReplicatedLog;
  readonly copy: Copy;
  readonly clock: Clock;
  apply(sequence: number, data: Uint8Array<ArrayBuffer>): Promise<unknown>;
  onProblem(what: string): void;
}

/** Applies the log's entries to the copy as they come, until `signal` aborts. */
export async function follow(parts: FollowParts, signal: AbortSignal): Promise<FollowEnd> {
  const { copy, clock, onProblem } = parts;
  while (!signal.aborted) {
    try {
      if (copy.health().kind === "ready") await applyAll(parts, signal);
    } catch (error) {
      if (signal.aborted) break;
      if (error instanceof EntriesTrimmed) return "trimmed";
      onProblem(`cannot follow the log: ${error instanceof Error ? error.message : String(error)}`);
    }
    await clock.sleep(AGAIN_AFTER_MS, signal).catch(() => {});
  }
  return "stopped";
}

async function applyAll({ log, copy, apply }: FollowParts, signal: AbortSignal): Promise<void> {
  const underWay: Promise<unknown>[] = [];
  // The next entry may never come: one that cannot be applied ends the reading.
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  try {
    // The copy answers in order. Its thread may still have entries that were given to it while this process was the owner.
    await copy.ask("describe", {});
    for await (const { sequence, data } of log.read(copy.applied.sequence, stop)) {
      const applied = apply(sequence, data);
      // It is awaited below. Until then its rejection must not count as unhandled.
      applied.catch(() => failed.abort());
      underWay.push(applied);
      if (underWay.length >= MOST_UNDER_WAY) await underWay.shift();
    }
  } finally {
    await Promise.allSettled(underWay);
  }
  await Promise.all(underWay);
}
