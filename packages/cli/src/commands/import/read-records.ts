import { createReadStream } from "node:fs";
import { type Readable, Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import { CommandFailure } from "../../failures/exit-codes.js";
import { csvMessage } from "./csv-message.js";
import { csvRows } from "./csv-rows.js";

/** One message of the file, as far as it could be read. */
export interface FileRecord {
  /** The line on which it begins, from 1. */
  readonly line: number;
  /** What stood there. */
  readonly raw: string;
  readonly value:
    | { readonly ok: true; readonly message: unknown }
    | { readonly ok: false; readonly reason: string };
}

export type FileFormat = "jsonl" | "csv";

export interface RecordSource {
  readonly records: AsyncGenerator<FileRecord>;
  /** Bytes of the file that were read so far (compressed ones, where it is). */
  bytesRead(): number;
  /** Lets go of the file, whether or not it was read to its end. */
  close(): void;
}

/** A line longer than this is no message: it is refused without being held in memory whole. */
const LONGEST_LINE = 1_048_576;

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
  // A stream that fails fails those that read from it, so the one at the end tells.
  file.on("error", (error: Error) => counting.destroy(error));
  let stream: Readable = file.pipe(counting);
  if (isGzip) {
    const gunzip = createGunzip();
    counting.on("error", (error: Error) => gunzip.destroy(error));
    stream = counting.pipe(gunzip);
  }
  return {
    records: format === "csv" ? csvRecords(stream) : jsonRecords(stream),
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
  if (raw.length >= LONGEST_LINE) return { ok: false, reason: "the line is longer than 1 MB" };
  try {
    return { ok: true, message: JSON.parse(raw) };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

async function* csvRecords(stream: Readable): AsyncGenerator<FileRecord> {
  let header: readonly string[] | undefined;
  for await (const { line, fields, raw, isWhole } of csvRows(text(stream))) {
    if (fields.length === 1 && fields[0] === "") continue;
    if (header === undefined) {
      header = fields;
      if (!header.some((column) => column.trim() === "type"))
        throw new CommandFailure(
          "usage",
          "the CSV has no `type` column; add one, or convert the file to JSON lines with a `type` in each",
          "Types are track, identify, page, screen, group and alias. The first line names the columns",
        );
      continue;
    }
    if (!isWhole) yield { line, raw, value: { ok: false, reason: "a quotation mark is missing at the end" } };
    else if (fields.length !== header.length)
      yield {
        line,
        raw,
        value: { ok: false, reason: `it has ${fields.length} fields and the header ${header.length}` },
      };
    else yield { line, raw, value: { ok: true, message: csvMessage(header, fields) } };
  }
}

async function* text(stream: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: false });
  for await (const chunk of stream) yield decoder.decode(chunk as Buffer, { stream: true });
  yield decoder.decode();
}

/** Lines without their ends; of a line that is too long only its beginning. */
async function* lines(stream: Readable): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of text(stream)) {
    let from = 0;
    for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", from)) {
      const line = rest + chunk.slice(from, end);
      rest = "";
      from = end + 1;
      yield line.endsWith("\r") ? line.slice(0, -1) : line;
    }
    if (rest.length < LONGEST_LINE) rest += chunk.slice(from, from + LONGEST_LINE);
  }
  if (rest !== "") yield rest;
}
