import { Readable } from "node:stream";
import fc from "fast-check";
import { expect } from "vitest";
import {
  csvMessage,
  csvRows,
  readRecords,
} from "../../../../packages/cli/src/commands/import/reading/read-records.js";
import { CommandFailure } from "../../../../packages/cli/src/failures.js";
import { textTarget, valueTarget } from "../../engine/target.js";

/** As RFC 4180 writes a field. */
function quoted(field: string): string {
  return `"${field.replaceAll('"', '""')}"`;
}

const field = fc.oneof(
  fc.constantFrom("", '"', ",", "\n", "\r\n", "a", "007", "true", "é😀", "a\rb", " x "),
  fc.string(),
);

async function rowsOf(text: string, chunkBytes: number) {
  const bytes = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) chunks.push(bytes.subarray(at, at + chunkBytes));
  const rows = [];
  for await (const row of csvRows(Readable.from(chunks))) rows.push(row);
  return rows;
}

export const csvRoundTrip = valueTarget({
  name: "csv-round-trip",
  rule: "rows that were written as RFC 4180 says are read as they were, however the file is cut into pieces",
  runs: 150,
  values: fc.tuple(
    fc.array(fc.array(field, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
    fc.constantFrom("\n", "\r\n"),
    fc.integer({ min: 1, max: 9 }),
  ),
  async check([rows, end, chunkBytes]) {
    const text = rows.map((row) => row.map(quoted).join(",")).join(end) + end;
    const read = await rowsOf(text, chunkBytes);
    expect(read.map(({ fields }) => fields)).toEqual(rows);
    let line = 1;
    for (const [index, row] of rows.entries()) {
      expect(read[index]).toMatchObject({ line, isComplete: true, raw: row.map(quoted).join(",") });
      line += row.map(quoted).join(",").split("\n").length;
    }
    const [header = [], ...others] = rows;
    for (const fields of others) {
      const message = csvMessage(header, fields);
      expect(Object.getPrototypeOf(message)).toBe(Object.prototype);
      JSON.stringify(message);
    }
  },
});

export const importFiles = textTarget({
  name: "import-files",
  rule: "every record of a file is a message or has a reason, whatever the file holds and however it is cut into pieces",
  runs: 200,
  alphabet: "bytes",
  dictionary: [
    "type,userId\n",
    '"',
    '""',
    ",",
    "\r\n",
    "\n",
    "\xef\xbb\xbf",
    "\x1f\x8b\x08",
    '{"type":"track"}',
    "properties.a",
    "__proto__",
    "\xff",
  ],
  maxLength: 400,
  async check(text) {
    const bytes = Buffer.from(text, "latin1");
    for (const format of ["csv", "jsonl"] as const) {
      const whole = await recordsOf([bytes], format, false);
      const pieces = Array.from(bytes, (byte) => Buffer.from([byte]));
      expect(await recordsOf(pieces, format, false)).toEqual(whole);
    }
    await recordsOf([bytes], "jsonl", true);
  },
});

async function recordsOf(
  chunks: readonly Buffer[],
  format: "csv" | "jsonl",
  isGzip: boolean,
): Promise<unknown[]> {
  const source = readRecords(Readable.from(chunks, { objectMode: false }), { format, isGzip });
  const records: unknown[] = [];
  let line = 0;
  try {
    for await (const record of source.records) {
      expect(record.line).toBeGreaterThan(line);
      line = record.line;
      records.push(record);
    }
  } catch (error) {
    const code = (error as { code?: string }).code ?? "";
    if (error instanceof CommandFailure) records.push(error.message);
    else if (isGzip && /^(Z_|ERR_)/.test(code)) records.push("damaged");
    else throw error;
  } finally {
    source.close();
  }
  return records;
}
