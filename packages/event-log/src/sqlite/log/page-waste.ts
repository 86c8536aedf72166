import { type LogRow, MetaWriter } from "../calls/log-row.js";

/** The body of a row that replaces unreadable messages. It contains no message. */
export const NOTHING = new TextEncoder().encode("null");

/** A row without messages that replaces a stretch of the log. */
export function emptyRow(sourceNo: number, first: number, end: number, receivedAtMs: number): LogRow {
  const meta = new MetaWriter();
  meta.add({
    sourceNo,
    receivedAtMs,
    flags: 0,
    itemCount: end - first,
    bodyBytes: NOTHING.length,
    skipped: [],
    extras: new Uint8Array(0),
  });
  return { first, meta: meta.seal(NOTHING), body: NOTHING };
}

/** Bytes that SQLite adds to a record's blobs: its header, and the cell's lengths, key and pointer. */
const RECORD_BYTES = 8;
const CELL_BYTES = 13;

/**
 * The fraction (0 to 1) of its pages that a table leaves empty if all rows have `blobBytes` bytes in their blobs. A row of more than half a
 * page has the page alone. A row of more than a page fills overflow pages, and its remainder may share a page with other rows. See "B-tree
 * Cell Format" in SQLite's description of its file format.
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
