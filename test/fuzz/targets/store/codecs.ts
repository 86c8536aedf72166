import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { ByteReader, ByteWriter } from "../../../../packages/event-log/src/sqlite/calls/bytes.js";
import {
  checkRow,
  checksumOf,
  DamagedRow,
  decodeRow,
  metaOf,
} from "../../../../packages/event-log/src/sqlite/calls/log-row.js";
import { readAttempts } from "../../../../packages/event-log/src/sqlite/consumers/attempt-codec.js";
import { readOutcomes, Strings } from "../../../../packages/event-log/src/sqlite/consumers/outcome-codec.js";
import { DamagedData } from "../../../../packages/event-log/src/sqlite/database/damage.js";
import { SCHEMA_STEPS } from "../../../../packages/event-log/src/sqlite/database/schema.js";
import { textTarget } from "../../engine/target.js";

const BODY = Buffer.from('{"batch":[{"messageId":"m-1"},{"messageId":"m-2"}]}');

let strings: Strings;

export const codecs = textTarget({
  name: "codecs",
  rule: "bytes of a log row, of outcomes and of attempts are decoded to values that can be written again, or refused as damaged",
  runs: 3_000,
  alphabet: "bytes",
  dictionary: [
    "\xff\xff\xff\xff\xff\xff\xff\x0f",
    "\x80\x80\x80\x80\x10",
    "\xff\xff\xff\xff\x0f",
    "\x01a",
    "\0\0\0\0",
    "\x7f",
    "\x80",
    "dst_1",
  ],
  maxLength: 120,
  async open() {
    const database = new DatabaseSync(":memory:");
    for (const step of SCHEMA_STEPS) database.exec(step);
    strings = new Strings(database);
    return async () => database.close();
  },
  check(input) {
    const bytes = Buffer.from(input, "latin1");
    checkLogRow(bytes);
    for (const value of numbersIn(() =>
      readOutcomes(bytes, 5, strings).flatMap(({ offset, atMs }) => [offset, atMs]),
    ))
      expect(Number.isInteger(value)).toBe(true);
    const attempts = numbersIn(() =>
      readAttempts(bytes, 5, strings).flatMap(({ offset, atMs, attempt }) => [offset, atMs, attempt]),
    );
    for (const value of attempts) expect(Number.isInteger(value)).toBe(true);
  },
});

/** None if the bytes are refused. */
function numbersIn(decode: () => number[]): number[] {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof RangeError) && !(error instanceof DamagedData)) throw error;
    return [];
  }
}

/** The row with a checksum that fits, as after a defect that the checksum cannot tell: an older version, or a bug. */
function checkLogRow(bytes: Buffer): void {
  const meta = Buffer.concat([Buffer.alloc(4), bytes]);
  meta.writeUInt32LE(checksumOf(meta, BODY), 0);
  checkRow({ first: 5, meta, body: BODY });
  const wrong = Buffer.from(meta);
  wrong[0] = (wrong[0] ?? 0) ^ 1;
  expect(() => checkRow({ first: 5, meta: wrong, body: BODY })).toThrow(DamagedRow);
  let batches: ReturnType<typeof decodeRow>;
  try {
    batches = decodeRow({ first: 5, meta, body: BODY });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return;
  }
  for (const { first, itemCount, receivedAtMs, sourceNo } of batches)
    for (const value of [first, itemCount, receivedAtMs, sourceNo])
      expect(Number.isInteger(value)).toBe(true);
  const written = metaOf(batches, BODY);
  expect(decodeRow({ first: 5, meta: written, body: BODY })).toEqual(batches);
  roundTrip(batches.flatMap(({ itemCount, sourceNo }) => [itemCount, sourceNo]));
}

function roundTrip(values: readonly number[]): void {
  const writer = new ByteWriter(1);
  for (const value of values) writer.varint(value);
  const reader = new ByteReader(writer.view());
  expect(values.map(() => reader.varint())).toEqual(values);
  expect(reader.done).toBe(true);
}
