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
