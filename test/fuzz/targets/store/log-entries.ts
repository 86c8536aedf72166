import { expect } from "vitest";
import { encodeCall } from "../../../../packages/event-log/src/sqlite/replica/call-codec.js";
import {
  decodeEntry,
  type Entry,
  encodeEntry,
  UnknownEntry,
} from "../../../../packages/event-log/src/sqlite/replica/entry.js";
import { textTarget } from "../../engine/target.js";

const MAGIC = "SLC\x01";

export const logEntries = textTarget({
  name: "log-entries",
  rule: "bytes of a cluster's log are an entry that can be written again, or refused as unknown",
  runs: 2_000,
  alphabet: "bytes",
  dictionary: [
    '"session":"a.1"',
    '"number":1',
    '"calls":[]',
    '"operation":"append"',
    '"request":{}',
    '"arrays":[["bodies","u8",8]]',
    '["keys","u32",8]',
    '["times","f64",8]',
    "-8",
    "1e300",
    "null",
    "\0",
  ],
  maxLength: 1_000,
  check(input) {
    expectEntry(MAGIC + input);
    expectEntry(framed(input));
  },
});

/** A head of the right length up to the first NUL, then the bytes of arrays. */
function framed(input: string): string {
  const [head = "", ...rest] = input.split("\0");
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  return MAGIC + length.toString("latin1") + head.padEnd(Math.ceil(head.length / 8) * 8) + rest.join("\0");
}

function expectEntry(text: string): void {
  let entry: Entry;
  try {
    entry = decodeEntry(Uint8Array.from(Buffer.from(text, "latin1")));
  } catch (error) {
    if (!(error instanceof UnknownEntry)) throw error;
    return;
  }
  // Once, JSON changes numbers such as -0.
  const written = rewritten(entry);
  expect(rewritten(written)).toEqual(written);
}

const rewritten = (entry: Entry): Entry => decodeEntry(encodeEntry(entry, entry.calls.map(encodeCall)));
