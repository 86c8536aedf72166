import type { DatabaseSync } from "node:sqlite";
import type { DatabaseFile } from "./database-file.js";
import { type Cell, type Cells, readCells, type Value } from "./read-cells.js";

/** A b-tree of the schema: a table or an index. */
export interface Tree {
  readonly name: string;
  /** The table itself, or the table that the index belongs to. */
  readonly table: string;
  readonly isIndex: boolean;
  /** Its first page in the damaged file. */
  readonly root: number;
  /** The columns of a record, in its order. The value of a rowid column is the cell's key; the record holds NULL for it. */
  readonly columns: readonly Column[];
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isOptional: boolean;
  readonly isRowid: boolean;
}

interface SchemaRow {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  readonly rootpage: number;
}

/**
 * The trees of the damaged file. `fresh` is a new database with the same schema. Trees that the damaged file's schema table does not show
 * have the same root page as in `fresh`: with auto-vacuum, root pages come first in the file, in the order of creation.
 */
export function treesOf(fresh: DatabaseSync, damaged: DatabaseFile): Tree[] {
  const roots = rootsIn(damaged);
  const rows = fresh
    .prepare("SELECT type, name, tbl_name, rootpage FROM sqlite_schema WHERE rootpage > 0")
    .all() as unknown as SchemaRow[];
  return rows.map(({ type, name, tbl_name: table, rootpage }) => ({
    name,
    table,
    isIndex: type === "index",
    root: roots.get(name) ?? rootpage,
    columns: type === "index" ? indexColumns(fresh, table, name) : tableColumns(fresh, table),
  }));
}

function tableColumns(database: DatabaseSync, table: string): Column[] {
  const { wr: isWithoutRowid } = database
    .prepare("SELECT wr FROM pragma_table_list WHERE name = ?")
    .get(table) as { wr: number };
  const columns = database
    .prepare('SELECT name, type, "notnull", pk FROM pragma_table_info(?)')
    .all(table) as unknown as { name: string; type: string; notnull: number; pk: number }[];
  return columns.map(({ name, type, notnull, pk }) => ({
    name,
    type,
    isOptional: notnull === 0 && pk === 0,
    isRowid: isWithoutRowid === 0 && type === "INTEGER" && pk === 1,
  }));
}

function indexColumns(database: DatabaseSync, table: string, index: string): Column[] {
  const ofTable = new Map(tableColumns(database, table).map((column) => [column.name, column]));
  const names = database.prepare("SELECT name FROM pragma_index_xinfo(?)").all(index) as unknown as {
    name: string | null;
  }[];
  return names.map(({ name }) => ({
    name: name ?? "rowid",
    type: ofTable.get(name ?? "")?.type ?? "INTEGER",
    isOptional: ofTable.get(name ?? "")?.isOptional ?? false,
    isRowid: false,
  }));
}

/** The schema table itself: type, name, table, root page, SQL. */
const SCHEMA_TREE: Tree = {
  name: "sqlite_schema",
  table: "sqlite_schema",
  isIndex: false,
  root: 1,
  columns: ["TEXT", "TEXT", "TEXT", "INTEGER", "TEXT"].map((type) => ({
    name: "",
    type,
    isOptional: true,
    isRowid: false,
  })),
};

function rootsIn(file: DatabaseFile): Map<string, number> {
  const roots = new Map<string, number>();
  for (const { cell } of walk(file, SCHEMA_TREE, new Uint8Array(file.pageCount + 1))) {
    const [, name, , root] = cell?.values ?? [];
    if (typeof name === "string" && typeof root === "number" && root > 2) roots.set(name, root);
  }
  return roots;
}

interface Found {
  readonly tree: Tree;
  /** Absent if a cell or a page of the tree cannot be read. */
  readonly cell?: Cell;
}

/**
 * All cells in the file that fit a tree: first those reachable from its root, then those on pages that no readable page links to. The
 * tree of such a page is known from the pointer map, or guessed from its cells.
 */
export function* findCells(file: DatabaseFile, trees: readonly Tree[]): Generator<Found> {
  const visited = new Uint8Array(file.pageCount + 1);
  for (const tree of trees) yield* walk(file, tree, visited);
  const byRoot = new Map(trees.map((tree) => [tree.root, tree]));
  for (let no = 3; no <= file.pageCount; no++) {
    if (visited[no] === 1 || file.isPointerMap(no) || file.isFree(no)) continue;
    const cells = readCells(file, no)?.cells ?? [];
    if (cells.length === 0) continue;
    const root = file.rootOf(no);
    const tree = root === undefined ? treeThatFits(cells, trees) : byRoot.get(root);
    if (tree !== undefined) yield* fittingCells(cells, tree);
  }
}

function treeThatFits(cells: readonly Cell[], trees: readonly Tree[]): Tree | undefined {
  return trees.find((tree) => cells.every((cell) => fits(tree, cell)));
}

function* fittingCells(cells: readonly Cell[], tree: Tree): Generator<Found> {
  for (const cell of cells) if (fits(tree, cell)) yield { tree, cell };
}

function* walk(file: DatabaseFile, tree: Tree, visited: Uint8Array): Generator<Found> {
  const left = [tree.root];
  for (let no = left.pop(); no !== undefined; no = left.pop()) {
    if (no < 1 || no > file.pageCount || visited[no] === 1) continue;
    // A damaged page may link to any page.
    const root = no === tree.root ? no : file.rootOf(no);
    if (root !== undefined && root !== tree.root) continue;
    visited[no] = 1;
    const page = readCells(file, no);
    left.push(...(page?.children ?? []));
    yield* cellsOn(page, tree);
  }
}

function* cellsOn(page: Cells | undefined, tree: Tree): Generator<Found> {
  const unreadable = page?.unreadable ?? 1;
  for (let i = 0; i < unreadable; i++) yield { tree };
  for (const cell of page?.cells ?? []) yield fits(tree, cell) ? { tree, cell } : { tree };
}

function fits({ columns, isIndex }: Tree, { rowid, values }: Cell): boolean {
  const isTable = rowid !== undefined;
  if (isTable && (isIndex || !Number.isSafeInteger(rowid) || rowid < 0)) return false;
  if (!isTable && columns.some(({ isRowid }) => isRowid)) return false;
  // Rows written before a column was added are shorter.
  if (values.length > columns.length || values.length === 0) return false;
  return values.every((value, i) => {
    const column = columns[i];
    return column !== undefined && isOfType(value, column);
  });
}

function isOfType(value: Value, { type, isOptional, isRowid }: Column): boolean {
  if (value === null) return isOptional || isRowid;
  if (isRowid) return false;
  switch (type) {
    case "INTEGER":
      return Number.isSafeInteger(value);
    case "TEXT":
      return typeof value === "string";
    case "BLOB":
      return value instanceof Uint8Array;
    default:
      return true;
  }
}
