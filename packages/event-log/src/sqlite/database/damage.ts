import { DamagedRow } from "../calls/log-row.js";
import { Refusal } from "../calls/refusal.js";
import { describe } from "./database.js";

/** Called with the error when a reader skips damaged data. */
export type DamageListener = (error: unknown) => void;

/** Stored data other than the log's rows that is damaged. */
export class DamagedData extends Error {
  override readonly name = "DamagedData";

  /** `what`: the damaged data, in the plural, such as "attempts of the messages 0 to 99". */
  constructor(what: string, cause?: unknown) {
    super(`${what} are damaged${cause === undefined ? "" : ` (${describe(cause)})`}: ${REMEDY}`, { cause });
  }
}

const REMEDY = "stop the collector and run `sluice repair`";

const SQLITE_CORRUPT = 11;
const SQLITE_CONSTRAINT = 19;
/** Extended codes of `SQLITE_IOERR` for failed reads. Other places can still be read and written. */
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

/** Whether it is damage that SQLite met. It then writes nothing more in the transaction. */
export function isOfSqlite(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause)
    if (sqliteCodeOf(at) !== undefined) return isDamage(at);
  return false;
}

/** Somebody met damaged data in a transaction that has entries of others: the store has to be opened again to go on. */
export class TransactionSpoiled extends Error {
  override readonly name = "TransactionSpoiled";

  constructor(cause: unknown) {
    super("damaged data was met in a transaction", { cause });
  }
}

/** Runs `read`. Throws `DamagedData` with the name `what` (in the plural) if SQLite cannot read the data. */
export function reading<T>(what: () => string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw sqliteCodeOf(error) !== undefined && isDamage(error) ? new DamagedData(what(), error) : error;
  }
}

/**
 * Whether it is enough to undo one caller's work after this error. After a failed write or sync, or without memory, the state of the
 * database is unknown: it must be reopened.
 */
export function isContained(error: unknown): boolean {
  const code = sqliteCodeOf(error);
  // Duplicate entries in a damaged index violate a constraint.
  return code === undefined || isDamage(error) || (code & 0xff) === SQLITE_CONSTRAINT;
}

/** The refusal for the caller whose work failed. */
export function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof DamagedRow || error instanceof DamagedData)
    return new Refusal("data_damaged", error.message);
  if (isDamage(error)) return new Refusal("data_damaged", `${describe(error)}: ${REMEDY}`);
  return new Refusal("internal", describe(error));
}
