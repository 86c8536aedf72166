import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { DatabaseFile } from "./pages/database-file.js";
import type { Cell, Value } from "./pages/read-cells.js";
import { findCells, type Tree, treesOf } from "./pages/trees.js";

/** The parts of a damaged file that could not be read. */
export interface Salvage {
  /** How many rows or whole pages could not be read, by table or index. */
  readonly unreadable: ReadonlyMap<string, number>;
  /** Index entries whose row is missing, by index: the values in the index's order, with the rowid last if there is one. */
  readonly orphans: ReadonlyMap<string, readonly (readonly Value[])[]>;
}

/** Bytes per commit. */
const COMMIT_BYTES = 16 * 1024 * 1024;

/**
 * Copies every readable row of a damaged file into a new database with the same schema. SQLite rebuilds its indexes along the way. Returns
 * which rows were lost, as far as the damaged indexes show it.
 */
export function salvage(file: DatabaseFile, to: DatabaseSync): Salvage {
  const trees = treesOf(to, file);
  const unreadable = new Map<string, number>();
  const writers = new Map(
    trees.filter((tree) => !tree.isIndex).map((tree) => [tree.name, new Writer(to, tree)]),
  );
  let bytes = 0;
  to.exec("BEGIN");
  for (const { tree, cell } of findCells(file, trees)) {
    if (cell === undefined) unreadable.set(tree.name, (unreadable.get(tree.name) ?? 0) + 1);
    else if (!tree.isIndex) {
      writers.get(tree.name)?.write(cell);
      bytes += bytesIn(cell.values);
    }
    if (bytes < COMMIT_BYTES) continue;
    to.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE); BEGIN");
    bytes = 0;
  }
  to.exec("COMMIT");
  return { unreadable, orphans: orphansIn(file, to, trees) };
}

/** The approximate size of these values. */
function bytesIn(values: readonly Value[]): number {
  return values.reduce<number>(
    (sum, value) => sum + (typeof value === "string" || value instanceof Uint8Array ? value.length : 8),
    0,
  );
}

/** Writes the rows of one table. If two have the same key, the first one stays. */
class Writer {
  readonly #database: DatabaseSync;
  readonly #tree: Tree;
  readonly #statements = new Map<number, StatementSync>();

  constructor(database: DatabaseSync, tree: Tree) {
    this.#database = database;
    this.#tree = tree;
  }

  write({ rowid, values }: Cell): void {
    const row = values.map((value, i) => (this.#tree.columns[i]?.isRowid ? (rowid ?? null) : value));
    this.#statementFor(row.length).run(...row);
  }

  #statementFor(length: number): StatementSync {
    const known = this.#statements.get(length);
    if (known !== undefined) return known;
    const names = this.#tree.columns.slice(0, length).map(({ name }) => `"${name}"`);
    const statement = this.#database.prepare(
      `INSERT OR IGNORE INTO "${this.#tree.name}" (${names}) VALUES (${names.map(() => "?")})`,
    );
    this.#statements.set(length, statement);
    return statement;
  }
}

function orphansIn(
  file: DatabaseFile,
  database: DatabaseSync,
  trees: readonly Tree[],
): Map<string, (readonly Value[])[]> {
  const orphans = new Map<string, (readonly Value[])[]>();
  const indexes = trees.filter(({ isIndex }) => isIndex);
  const lookUps = new Map(indexes.map((tree) => [tree.name, lookUp(database, tree)]));
  for (const { tree, cell } of findCells(file, indexes)) {
    if (cell === undefined || cell.values.length < tree.columns.length) continue;
    if (lookUps.get(tree.name)?.(cell.values)) continue;
    const found = orphans.get(tree.name) ?? [];
    found.push(cell.values);
    orphans.set(tree.name, found);
  }
  return orphans;
}

/** Returns a function that checks whether the row of an index entry exists. */
function lookUp(database: DatabaseSync, tree: Tree): (values: readonly Value[]) => boolean {
  const last = tree.columns.at(-1);
  if (last?.name === "rowid") {
    const statement = database.prepare(`SELECT 1 FROM "${tree.table}" WHERE rowid = ?`);
    return (values) => statement.get(values.at(-1) ?? null) !== undefined;
  }
  const names = tree.columns.map(({ name }) => `"${name}" IS ?`);
  const statement = database.prepare(`SELECT 1 FROM "${tree.table}" WHERE ${names.join(" AND ")}`);
  return (values) => statement.get(...values) !== undefined;
}
