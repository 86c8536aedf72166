import { DamagedRow } from "../calls/log-row.js";
import { Refusal } from "../calls/refusal.js";
import { describe } from "./database.js";

/** Called with the error of damaged data that a reader skipped. */
export type DamageListener = (error: unknown) => void;

/** Stored data other than the log's rows that cannot be read as what was written. */
export class DamagedData extends Error {
  override readonly name = "DamagedData";

  /** `what` is damaged, in the plural: "attempts of the messages 0 to 99". */
  constructor(what: string, cause?: unknown) {
    super(`${what} are damaged${cause === undefined ? "" : ` (${describe(cause)})`}: ${REMEDY}`, { cause });
  }
}

const REMEDY = "stop the collector and run `sluice repair`";

const SQLITE_CORRUPT = 11;
const SQLITE_CONSTRAINT = 19;
/** Extended codes of `SQLITE_IOERR` that are about reading: the place cannot be read, others can be written. */
const SQLITE_IOERR_READ = 266;
const SQLITE_IOERR_SHORT_READ = 522;
const SQLITE_IOERR_CORRUPTFS = 8458;
const UNREADABLE: ReadonlySet<number> = new Set([
  SQLITE_IOERR_READ,
  SQLITE_IOERR_SHORT_READ,
  SQLITE_IOERR_CORRUPTFS,
]);

function sqliteCodeOf(error: unknown): number | undefined {
  return (error as { errcode?: number } | undefined)?.errcode;
}

/** Whether an error is about stored data that cannot be read. */
export function isDamage(error: unknown): boolean {
  if (error instanceof DamagedRow || error instanceof DamagedData) return true;
  const code = sqliteCodeOf(error);
  return code !== undefined && ((code & 0xff) === SQLITE_CORRUPT || UNREADABLE.has(code));
}

/** Runs what reads stored data. Where SQLite cannot read it `DamagedData` is thrown, which names it (in the plural). */
export function reading<T>(what: () => string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw sqliteCodeOf(error) !== undefined && isDamage(error) ? new DamagedData(what(), error) : error;
  }
}

/**
 * Whether the work of one caller can be undone after this error and everybody else's go on. After a write or a sync that failed, or without
 * memory, nobody knows what the database has: it must be opened anew.
 */
export function isContained(error: unknown): boolean {
  const code = sqliteCodeOf(error);
  // What a damaged index has twice breaks a constraint.
  return code === undefined || isDamage(error) || (code & 0xff) === SQLITE_CONSTRAINT;
}

/** What the caller whose work met the error is told. */
export function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof DamagedRow || error instanceof DamagedData)
    return new Refusal("data_damaged", error.message);
  if (isDamage(error)) return new Refusal("data_damaged", `${describe(error)}: ${REMEDY}`);
  return new Refusal("internal", describe(error));
}
