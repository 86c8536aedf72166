import { join } from "node:path";
import { type FileLog, LOG_FILE } from "../../file-log/file-log.js";
import type { DamagedPlace } from "../../file-log/read-frames.js";
import type { Applied } from "../calls/applied.js";
import type { Call, OperationName } from "../calls/operations.js";
import { CannotOpen } from "../database/database.js";
import type { LoggedCall } from "../replica/call-codec.js";
import { decodeEntry } from "../replica/entry.js";
import type { Opening } from "./opening.js";

/** The store, whose database may lack the newest entries of its log. `S`: the store itself. */
interface StoreBehind<S> {
  /** The last entry that the database has, and what the next one would be. */
  readonly applied: Applied;
  readonly nextApplied: Applied;
  readonly isCommitDue: boolean;
  commitEntry(calls: readonly Call[], applied: Applied): unknown;
  commit(): void;
  finishSealing(): void;
  leaveOut(sequence: number, nextOffset: number): void;
  checkpoint(): void;
  begin(): S;
  /** Empties it, and opens it again. */
  clear(applied: Applied): S;
  isSpoiled(error: unknown): boolean;
  reopened(isCareful: boolean): S;
}

/**
 * Applies the entries of the log that the database lacks. Afterwards the database has everything. Returns the store to use. With `leftOut`,
 * what cannot be read is reported and left out; otherwise the folder cannot be opened.
 */
export function bringUp<S>(
  store: StoreBehind<S>,
  log: FileLog,
  directory: string,
  { noted, leftOut }: Pick<Opening, "noted" | "leftOut">,
): S {
  try {
    const damaged = (place: DamagedPlace): void => {
      const what = describePlace(directory, place);
      if (leftOut === undefined) throw damagedLog(directory, what);
      leftOut(what, place.data);
    };
    for (const { sequence, nextOffset, data } of log.entriesAfter(store.applied.sequence, damaged)) {
      const expected = store.applied.sequence + 1;
      if (sequence !== expected) {
        const what = `the log begins at entry ${sequence}, but the database ends at entry ${expected - 1}`;
        if (leftOut === undefined) throw damagedLog(directory, what);
        if (sequence > expected) leftOut(`entries ${expected} to ${sequence - 1} of the log`, NO_BYTES);
        store.leaveOut(sequence, nextOffset);
      }
      const applied = store.nextApplied;
      const { calls } = decodeEntry(data);
      // The store that replaces this one applies the rest.
      if (calls[0]?.operation === "clear") {
        store.commit();
        return store.clear(applied);
      }
      apply(store, calls, applied);
    }
  } catch (error) {
    if (store.isSpoiled(error)) return store.reopened(true);
    throw error;
  }
  if (log.cutOff !== undefined)
    noted?.(
      `entry ${log.cutOff} of ${join(directory, LOG_FILE)} was not written completely when the last process ended. It was left out: nothing in it was answered`,
    );
  store.checkpoint();
  return store.begin();
}

const NO_BYTES = new Uint8Array(0);

/** Calls that meet damaged data are left out, and reported. */
function apply<S>(store: StoreBehind<S>, logged: readonly LoggedCall[], applied: Applied): void {
  const calls = logged.map(
    ({ operation, request }, id): Call => ({ id, operation: operation as OperationName, request }),
  );
  if (calls.some(({ operation }) => operation === "retain")) store.finishSealing();
  store.commitEntry(calls, applied);
  if (store.isCommitDue) store.commit();
}

export function damagedLog(directory: string, what: string): CannotOpen {
  return new CannotOpen(
    `${join(directory, LOG_FILE)} is damaged: ${what}. Nothing was changed. Run \`sluice repair --data-dir ${directory}\`: it keeps every entry that can still be read, and lists what is lost`,
    { isDamage: true },
  );
}

/** Which entry cannot be read, where it is, when it was written, and what was in it. */
export function describePlace(directory: string, { at, end, header, data }: DamagedPlace): string {
  const where = `bytes ${at} to ${end} of ${join(directory, LOG_FILE)}`;
  if (header === undefined) return `${where} cannot be read`;
  const when = header.atMs > 0 ? `, written about ${new Date(header.atMs).toISOString()},` : "";
  return `entry ${header.sequence}${when} cannot be read (${where}); it held ${contentsOf(data)}`;
}

function contentsOf(data: Uint8Array<ArrayBuffer>): string {
  try {
    return decodeEntry(data)
      .calls.map(({ operation }) => operation)
      .join(", ");
  } catch {
    return "nothing that can be told";
  }
}
