import { pipeline, Readable } from "node:stream";
import type { Options } from "csv-parse";
import { CommandFailure } from "../../../failures.js";

export interface CsvRow {
  /** The line on which the row starts, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
  /** The row's text without its line end. */
  readonly raw: string;
  /** False if the file ends inside quotation marks. */
  readonly isComplete: boolean;
}

interface ParsedRow {
  readonly record: readonly string[];
  readonly raw: string;
}

/** No row of a valid import is longer. Without a limit, a missing quotation mark would read the rest of the file into memory. */
const MAX_ROW_BYTES = 1_048_576;

/**
 * Reads rows of comma-separated values (RFC 4180): quoted fields may contain commas, line ends and doubled quotation marks.
 * Rows may have any number of fields. Throws `CommandFailure` for a row over 1 MB.
 */
export async function* csvRows(chunks: AsyncIterable<string | Buffer>): AsyncGenerator<CsvRow> {
  /** The first line of the row that is being parsed. The parser's own count is too high after `\r\n` in a quoted field. */
  let line = 1;
  let unclosed: CsvRow | undefined;
  const options: Options<CsvRow, ParsedRow> = {
    bom: true,
    max_record_size: MAX_ROW_BYTES,
    raw: true,
    record_delimiter: ["\r\n", "\n"],
    relax_column_count: true,
    relax_quotes: true,
    on_record: ({ record, raw: rawWithEnd }) => {
      // Of `\r\n` the parser keeps only the first character.
      const raw = rawWithEnd.replace(/[\r\n]$/, "");
      const row = { line, fields: record, raw, isComplete: true };
      line += raw.split("\n").length;
      return row;
    },
    skip_records_with_error: true,
    on_skip: (error, raw = "") => {
      // After any other error the parser cannot tell where the next row starts: an error thrown here ends it.
      if (error?.code !== "CSV_QUOTE_NOT_CLOSED") throw rowTooLong(line);
      unclosed = { line, fields: [], raw, isComplete: false };
      return undefined;
    },
  };
  // Other commands do not load it.
  const { parse } = await import("csv-parse");
  // The types of `parse` do not know the form of records with `raw`.
  const rows = parse(options as unknown as Options);
  // `rows` emits the errors of both streams.
  pipeline(Readable.from(chunks, { objectMode: false }), rows, () => {});
  yield* rows as AsyncIterable<CsvRow>;
  if (unclosed !== undefined) yield unclosed;
}

function rowTooLong(line: number): CommandFailure {
  return new CommandFailure(
    "usage",
    `The CSV row that starts on line ${line} is longer than 1 MB`,
    "A closing quotation mark is probably missing. Correct the row and import the file again: messages that were already imported are not counted twice",
  );
}
