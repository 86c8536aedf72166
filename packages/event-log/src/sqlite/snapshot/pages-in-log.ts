import { closeSync, existsSync, openSync, readSync } from "node:fs";

/** Sizes in SQLite's write-ahead log file: https://www.sqlite.org/fileformat2.html#walformat */
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The part of both headers that says to which use of the file a frame belongs. */
const SALT = { inHeader: 16, inFrame: 8, bytes: 8 } as const;

export interface PagesInLog {
  /** Numbers of the pages that a checkpoint may write. Pages of transactions that were rolled back may be among them. */
  readonly numbers: ReadonlySet<number>;
  /** The size of the database after the last commit, in pages. Absent: there is none in the log. */
  readonly pagesAfter?: number;
}

/** Reads which pages the write-ahead log of a database holds. */
export function pagesInLog(file: string, pageBytes: number): PagesInLog {
  const numbers = new Set<number>();
  if (!existsSync(file)) return { numbers };
  const descriptor = openSync(file, "r");
  try {
    const header = Buffer.alloc(LOG_HEADER_BYTES);
    if (readSync(descriptor, header, 0, LOG_HEADER_BYTES, 0) < LOG_HEADER_BYTES) return { numbers };
    const salt = header.subarray(SALT.inHeader, SALT.inHeader + SALT.bytes);
    const frame = Buffer.alloc(FRAME_HEADER_BYTES);
    let pagesAfter: number | undefined;
    for (let at = LOG_HEADER_BYTES; ; at += FRAME_HEADER_BYTES + pageBytes) {
      if (readSync(descriptor, frame, 0, FRAME_HEADER_BYTES, at) < FRAME_HEADER_BYTES) break;
      // Frames of an earlier use of the file follow.
      if (!frame.subarray(SALT.inFrame, SALT.inFrame + SALT.bytes).equals(salt)) break;
      numbers.add(frame.readUInt32BE(0));
      const sizeAfter = frame.readUInt32BE(4);
      if (sizeAfter > 0) pagesAfter = sizeAfter;
    }
    return { numbers, ...(pagesAfter === undefined ? {} : { pagesAfter }) };
  } finally {
    closeSync(descriptor);
  }
}
