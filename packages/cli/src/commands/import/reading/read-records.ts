import { createReadStream } from "node:fs";
import { pipeline, Readable, Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Options } from "csv-parse";
import { CommandFailure } from "../../../failures.js";

interface CsvRow {
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

/** In these objects, numbers, true, false and null are converted. Other values, such as ids and names, stay text. */
const TYPED_ROOTS = new Set(["properties", "traits", "context", "integrations"]);
const UNSAFE_KEYS = new Set(["__proto__", "constructor", "prototype"]);

/** Turns a row into a message. A column `properties.plan` becomes a field of `properties`; empty fields are left out. */
export function csvMessage(
  header: readonly string[],
  fields: readonly string[],
): { [field: string]: unknown } {
  const message: { [field: string]: unknown } = {};
  header.forEach((column, index) => {
    const text = fields[index] ?? "";
    const path = column.trim().split(".");
    if (text === "" || path.some((key) => key === "" || UNSAFE_KEYS.has(key))) return;
    const value = path.length > 1 && TYPED_ROOTS.has(path[0] ?? "") ? convert(text) : text;
    put(message, path, value);
  });
  return message;
}

function put(target: { [field: string]: unknown }, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path;
  if (key === undefined) return;
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const inner = target[key];
  if (typeof inner === "object" && inner !== null) put(inner as { [field: string]: unknown }, rest, value);
  else {
    const created: { [field: string]: unknown } = {};
    target[key] = created;
    put(created, rest, value);
  }
}

/** A text is a number only if the number has the same text: `007` and `1e3` stay text. */
function convert(text: string): unknown {
  if (text === "true") return true;
  if (text === "false") return false;
  if (text === "null") return null;
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) && String(number) === text ? number : text;
}

/** One message of the file, or the reason why it cannot be read. */
export interface FileRecord {
  /** The line on which it starts, from 1. */
  readonly line: number;
  /** Its text in the file. */
  readonly raw: string;
  readonly value:
    | { readonly ok: true; readonly message: unknown }
    | { readonly ok: false; readonly reason: string };
}

export type FileFormat = "jsonl" | "csv";

export interface RecordSource {
  readonly records: AsyncGenerator<FileRecord>;
  /** Bytes of the file that were read so far; compressed bytes if it is compressed. */
  bytesRead(): number;
  /** Closes the file, even if it was not read to its end. */
  close(): void;
}

/** A longer line is not a message. It is refused without being held in memory. */
const MAX_LINE_CHARACTERS = 1_048_576;

export function readRecords(
  input: string | Readable,
  { format, isGzip }: { readonly format: FileFormat; readonly isGzip: boolean },
): RecordSource {
  const file = typeof input === "string" ? createReadStream(input, { highWaterMark: 1 << 18 }) : input;
  let bytes = 0;
  const counting = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  const text = isGzip ? createGunzip() : counting;
  // `text` emits the errors of all streams, so the reader of the records gets them.
  pipeline(isGzip ? [file, counting, text] : [file, counting], () => {});
  return {
    records: format === "csv" ? csvRecords(text) : jsonRecords(text),
    bytesRead: () => bytes,
    close: () => void file.destroy(),
  };
}

async function* jsonRecords(stream: Readable): AsyncGenerator<FileRecord> {
  let line = 0;
  for await (const raw of lines(stream)) {
    line += 1;
    if (raw.trim() === "") continue;
    yield { line, raw, value: parse(raw) };
  }
}

function parse(raw: string): FileRecord["value"] {
  if (raw.length >= MAX_LINE_CHARACTERS) return { ok: false, reason: "the line is longer than 1 MB" };
  try {
    return { ok: true, message: JSON.parse(raw) };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

async function* csvRecords(stream: Readable): AsyncGenerator<FileRecord> {
  let header: readonly string[] | undefined;
  for await (const { line, fields, raw, isComplete } of csvRows(stream)) {
    const isEmpty = fields.length === 1 && fields[0] === "";
    if (isEmpty) continue;
    if (header === undefined) {
      header = fields;
      checkHeader(header);
      continue;
    }
    if (!isComplete)
      yield { line, raw, value: { ok: false, reason: "the closing quotation mark is missing" } };
    else if (fields.length !== header.length)
      yield {
        line,
        raw,
        value: { ok: false, reason: `the row has ${fields.length} fields, the header has ${header.length}` },
      };
    else yield { line, raw, value: { ok: true, message: csvMessage(header, fields) } };
  }
}

function checkHeader(header: readonly string[]): void {
  if (header.some((column) => column.trim() === "type")) return;
  throw new CommandFailure(
    "usage",
    "The CSV file has no `type` column",
    "The first line names the columns. Add a `type` column (track, identify, page, screen, group or alias), or convert the file to JSON lines",
  );
}

/** Lines without their line ends; only the start of a line that is too long. */
async function* lines(stream: Readable): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of decoded(stream)) {
    let from = 0;
    for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", from)) {
      const line = rest + chunk.slice(from, end);
      rest = "";
      from = end + 1;
      yield line.endsWith("\r") ? line.slice(0, -1) : line;
    }
    if (rest.length < MAX_LINE_CHARACTERS) rest += chunk.slice(from, from + MAX_LINE_CHARACTERS);
  }
  if (rest !== "") yield rest;
}

async function* decoded(stream: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) yield decoder.decode(chunk as Buffer, { stream: true });
  yield decoder.decode();
}
