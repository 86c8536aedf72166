/** What SQLite adds to a record's blobs: its header, and the cell's lengths, key and pointer. */
const RECORD_BYTES = 8;
const CELL_BYTES = 13;

/**
 * The part, 0 to 1, of the pages of a table's rows that such rows leave empty, each with so many bytes in its blobs: a row that takes
 * more than half a page has it for itself; one that takes more than a page has pages of its own that are full, and a rest that
 * shares a page with others, or has it for itself. See "B-tree Cell Format" in SQLite's description of its file.
 */
export function pageWaste(blobBytes: number, pageBytes: number): number {
  const payload = blobBytes + RECORD_BYTES;
  const mostLocal = pageBytes - 35;
  const leastLocal = Math.floor(((pageBytes - 12) * 32) / 255) - 23;
  const overflowBytes = pageBytes - 4;
  let local = payload;
  if (payload > mostLocal) {
    const rest = leastLocal + ((payload - leastLocal) % overflowBytes);
    local = rest <= mostLocal ? rest : leastLocal;
  }
  const overflowPages = Math.ceil((payload - local) / overflowBytes);
  const rowsAPage = Math.max(1, Math.floor((pageBytes - 8) / (local + CELL_BYTES)));
  return 1 - payload / (overflowPages * pageBytes + pageBytes / rowsAPage);
}
