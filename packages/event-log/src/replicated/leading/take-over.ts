import type { Clock } from "@sluice/resilience";
import { StorageUnavailable } from "../../ports/errors.js";
import type { Applied } from "../../sqlite/calls/applied.js";
import type { Takeover } from "../../sqlite/replica/apply-entry.js";
import { encodeCall } from "../../sqlite/replica/call-codec.js";
import { encodeEntry } from "../../sqlite/replica/entry.js";
import type { LogAppend, ReplicatedLog } from "../engine.js";

const AGAIN_AFTER_MS = 100;

export interface TakeOverParts {
  readonly log: ReplicatedLog;
  readonly clock: Clock;
  /** What the copy contains now. Following goes on meanwhile. */
  applied(): Applied;
  /** Resolves when the copy contains this entry. Rejects when `signal` aborts. */
  caughtUp(sequence: number): Promise<void>;
  /** Read when the copy has caught up: before, it may not have the settings of the log. */
  takeover(): Promise<Takeover>;
  readonly signal: AbortSignal;
}

/**
 * Appends the first entry of a session, with the fence, to a log whose every entry the copy contains. Resolves when the copy contains it
 * too: from then on, no copy applies an entry of an earlier session. Rejects if another process was faster, or if the log is full.
 */
export async function takeOver(parts: TakeOverParts, session: string): Promise<void> {
  const { log, applied, caughtUp, clock, signal } = parts;
  let before: string | undefined;
  const id = { session, number: 1 };
  for (;;) {
    const { last } = await log.bounds();
    if (last < applied().sequence) throw new StorageUnavailable(lostEntries(applied().sequence, last));
    await caughtUp(last);
    if (applied().session === session) return;
    // Those that took over earlier are the ones to replace.
    before ??= applied().session;
    if (applied().session !== before) throw new StorageUnavailable("another process took over first");
    const expected = applied().sequence;
    const entry = encodeEntry(id, [encodeCall({ operation: "takeover", request: await parts.takeover() })]);
    const answer = await appendOrUnknown(log, entry, expected);
    if (answer.kind === "impossible") throw new StorageUnavailable(`the log has no room: ${answer.reason}`);
    if (answer.kind === "appended") await caughtUp(answer.sequence);
    else await clock.sleep(AGAIN_AFTER_MS, signal);
  }
}

function appendOrUnknown(log: ReplicatedLog, data: Uint8Array, expected: number): Promise<LogAppend> {
  return log.append(data, expected).catch((error: unknown) => ({ kind: "unknown", reason: String(error) }));
}

export function lostEntries(applied: number, last: number): string {
  return `the local copy contains entry ${applied}, but the log ends at ${last}: it lost entries, or it is another log`;
}
