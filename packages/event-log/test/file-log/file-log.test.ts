import { closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { FileLog, LOG_FILE } from "../../src/file-log/file-log.js";
import { FRAME_BYTES } from "../../src/file-log/frame.js";
import type { DamagedPlace } from "../../src/file-log/read-frames.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();
const BEGIN = 4_096;

const opened: FileLog[] = [];
afterEach(() => {
  for (const log of opened.splice(0)) log.close();
});

function open(directory: string): FileLog {
  const log = FileLog.open(directory);
  opened.push(log);
  return log;
}

const frame = (sequence: number, text = `entry ${sequence}`) => ({
  sequence,
  atMs: 1_000 * sequence,
  nextOffset: 10 * sequence,
  data: new Uint8Array(Buffer.from(text)),
});

function append(log: FileLog, from: number, to: number): void {
  for (let sequence = from; sequence <= to; sequence++) log.append(frame(sequence));
}

function read(
  log: FileLog,
  after: number,
): { readonly sequences: number[]; readonly damaged: DamagedPlace[] } {
  const damaged: DamagedPlace[] = [];
  const sequences = [...log.entriesAfter(after, (place) => damaged.push(place))].map(
    ({ sequence }) => sequence,
  );
  return { sequences, damaged };
}

function overwrite(directory: string, at: number, bytes: Uint8Array): void {
  const file = openSync(join(directory, LOG_FILE), "r+");
  writeSync(file, bytes, 0, bytes.byteLength, at);
  closeSync(file);
}

describe("a log in a file", () => {
  it("has its entries after it was opened again, and goes on", () => {
    const directory = temporaryDirectory();
    append(open(directory), 1, 5);
    const again = open(directory);
    expect([...again.entriesAfter(3, () => {})]).toEqual([frame(4), frame(5)]);
    append(again, 6, 7);
    expect(read(open(directory), 0).sequences).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it("is used again from its beginning, and does not take older entries behind the newest for later ones", () => {
    const directory = temporaryDirectory();
    const log = open(directory);
    append(log, 1, 9);
    log.restart();
    append(log, 10, 11);
    const bytes = statSync(join(directory, LOG_FILE)).size;
    const again = open(directory);
    expect(read(again, 9)).toEqual({ sequences: [10, 11], damaged: [] });
    append(again, 12, 13);
    expect(read(open(directory), 9).sequences).toEqual([10, 11, 12, 13]);
    expect(statSync(join(directory, LOG_FILE)).size).toBe(bytes);
  });

  it("begins anew if the database has everything", () => {
    const directory = temporaryDirectory();
    append(open(directory), 1, 9);
    const again = open(directory);
    expect(read(again, 9).sequences).toEqual([]);
    expect(again.bytes).toBe(0);
  });

  it.each([1, 20, FRAME_BYTES + 3])(
    "leaves out a last entry that was not written completely: %d bytes are missing",
    (missing) => {
      const directory = temporaryDirectory();
      const log = open(directory);
      append(log, 1, 3);
      const end = BEGIN + log.bytes;
      overwrite(directory, end - missing, new Uint8Array(missing));
      const again = open(directory);
      expect(read(again, 0)).toEqual({ sequences: [1, 2], damaged: [] });
      append(again, 3, 3);
      expect(read(open(directory), 0)).toEqual({ sequences: [1, 2, 3], damaged: [] });
    },
  );

  it("tells a damaged entry in the middle from the end, with its place, and reads the rest", () => {
    const directory = temporaryDirectory();
    const log = open(directory);
    append(log, 1, 1);
    const at = BEGIN + log.bytes;
    append(log, 2, 2);
    const end = BEGIN + log.bytes;
    append(log, 3, 4);
    overwrite(directory, at + FRAME_BYTES, Buffer.from("E"));
    const { sequences, damaged } = read(open(directory), 0);
    expect(sequences).toEqual([1, 3, 4]);
    expect(damaged).toMatchObject([{ at, end, header: { sequence: 2, atMs: 2_000 } }]);
  });

  it("says nothing of a damaged entry that is not needed any more", () => {
    const directory = temporaryDirectory();
    const log = open(directory);
    append(log, 1, 1);
    const at = BEGIN + log.bytes;
    append(log, 2, 5);
    overwrite(directory, at + FRAME_BYTES, Buffer.from("E"));
    const again = open(directory);
    expect(read(again, 3)).toEqual({ sequences: [4, 5], damaged: [] });
    append(again, 6, 6);
    expect(read(open(directory), 3)).toEqual({ sequences: [4, 5, 6], damaged: [] });
    expect(read(open(directory), 0).damaged).toMatchObject([{ at, header: { sequence: 2 } }]);
  });

  it("notices damage of the first entry, and of a header", () => {
    const directory = temporaryDirectory();
    append(open(directory), 1, 3);
    overwrite(directory, BEGIN, new Uint8Array(FRAME_BYTES));
    const { sequences, damaged } = read(open(directory), 0);
    expect(sequences).toEqual([2, 3]);
    expect(damaged).toMatchObject([{ at: BEGIN, header: undefined }]);
  });

  it("does not take data for an entry, even if it looks like one of another log", () => {
    const other = temporaryDirectory();
    append(open(other), 1, 9);
    const looksLikeEntries = readFileSync(join(other, LOG_FILE)).subarray(BEGIN, BEGIN + 600);
    const directory = temporaryDirectory();
    const log = open(directory);
    append(log, 1, 1);
    log.append({ ...frame(2), data: new Uint8Array(looksLikeEntries) });
    // The entry was not written completely, but its data was.
    overwrite(directory, BEGIN + FRAME_BYTES + "entry 1".length, new Uint8Array(FRAME_BYTES));
    expect(read(open(directory), 0)).toEqual({ sequences: [1], damaged: [] });
  });

  it("has no byte of its entries after it was emptied", () => {
    const directory = temporaryDirectory();
    const log = open(directory);
    log.append(frame(1, "a secret"));
    log.restart();
    expect(readFileSync(join(directory, LOG_FILE)).includes("a secret")).toBe(true);
    log.empty();
    expect(readFileSync(join(directory, LOG_FILE)).includes("a secret")).toBe(false);
    append(log, 2, 2);
    expect(read(open(directory), 1).sequences).toEqual([2]);
  });

  it("is cut back when it is used again after a burst", () => {
    const directory = temporaryDirectory();
    const log = open(directory);
    for (let sequence = 1; sequence <= 20; sequence++) log.append(frame(sequence, "x".repeat(1 << 20)));
    log.restart();
    expect(log.fileBytes).toBe(16 << 20);
    append(log, 21, 22);
    expect(read(open(directory), 20).sequences).toEqual([21, 22]);
  });

  it("refuses a file that is something else", () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, LOG_FILE), "2026-01-01 started\n");
    expect(() => open(directory)).toThrow(/does not begin as a log of this version does/);
  });
});
