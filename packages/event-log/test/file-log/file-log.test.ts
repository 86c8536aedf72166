import fs, {
  chmodSync,
  closeSync,
  existsSync,
  fchmodSync,
  fdatasyncSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
  writevSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { mendBeginning } from "../../src/file-log/beginning.js";
import { FileLog, LOG_FILE, removeLog } from "../../src/file-log/file-log.js";
import { FRAME_BYTES } from "../../src/file-log/frame.js";
import type { DamagedPlace } from "../../src/file-log/read-frames.js";
import { temporaryDirectories } from "../temporary-directory.js";

// Not `vi.mock`: other files of this process have imported the log already.
beforeAll(() => {
  for (const name of [
    "openSync",
    "closeSync",
    "fchmodSync",
    "fsyncSync",
    "fdatasyncSync",
    "writeSync",
    "writevSync",
  ] as const)
    vi.spyOn(fs, name);
  syncBuiltinESMExports();
});
afterAll(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});
beforeEach(() => {
  vi.clearAllMocks();
});

const temporaryDirectory = temporaryDirectories();
const BEGIN = 4_096;
const MEBIBYTE = 1 << 20;

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
  it("is written once an entry, and changes the mode of no file that is private", () => {
    const directory = temporaryDirectory();
    append(open(directory), 1, 1);
    vi.clearAllMocks();
    append(open(directory), 2, 3);
    expect([fchmodSync, writeSync, writevSync].map((call) => vi.mocked(call).mock.calls.length)).toEqual([
      0, 0, 2,
    ]);
  });

  it("goes on behind its last entry, although older ones of the same size follow", () => {
    const directory = temporaryDirectory();
    const log = open(directory);
    append(log, 1, 5);
    log.restart();
    append(log, 6, 7);
    const again = open(directory);
    expect(read(again, 5)).toEqual({ sequences: [6, 7], damaged: [] });
    expect(again.bytes).toBe(log.bytes);
    append(again, 8, 8);
    expect(read(open(directory), 5)).toEqual({ sequences: [6, 7, 8], damaged: [] });
  });

  it("can be removed, also twice", () => {
    const directory = temporaryDirectory();
    append(open(directory), 1, 1);
    removeLog(directory);
    removeLog(directory);
    expect(existsSync(join(directory, LOG_FILE))).toBe(false);
  });

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
    expect([again.bytes, again.cutOff]).toEqual([log.bytes, undefined]);
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
      const isHeaderWhole = missing < FRAME_BYTES;
      const size = isHeaderWhole ? BEGIN + again.bytes : MEBIBYTE;
      expect([again.cutOff, again.fileBytes]).toEqual([isHeaderWhole ? 3 : undefined, size]);
      append(again, 3, 3);
      expect(read(open(directory), 0)).toEqual({ sequences: [1, 2, 3], damaged: [] });
    },
  );

  it("takes no unreadable last entry for one that was cut off if the database has it", () => {
    const directory = temporaryDirectory();
    const log = open(directory);
    append(log, 1, 3);
    overwrite(directory, BEGIN + log.bytes - 1, new Uint8Array(1));
    const again = open(directory);
    expect(read(again, 3)).toEqual({ sequences: [], damaged: [] });
    expect(again.cutOff).toBeUndefined();
  });

  it.each([
    ["the first one", 1, []],
    ["one behind a damaged one", 2, [1]],
  ])("can end in the header of an entry: of %s", (_what, damaged, sequences) => {
    const directory = temporaryDirectory();
    const log = open(directory);
    append(log, 1, damaged);
    const at = BEGIN + log.bytes;
    append(log, damaged + 1, damaged + 1);
    overwrite(directory, at - 1, new Uint8Array(1));
    truncateSync(join(directory, LOG_FILE), at + FRAME_BYTES - 1);
    expect(read(open(directory), 0).sequences).toEqual(sequences);
  });

  it("can end with its last entry", () => {
    const directory = temporaryDirectory();
    const log = open(directory);
    const data = new Uint8Array(MEBIBYTE - BEGIN - FRAME_BYTES).fill(1);
    log.append({ ...frame(1), data });
    expect(log.fileBytes).toBe(BEGIN + log.bytes);
    expect(read(open(directory), 0)).toEqual({ sequences: [1], damaged: [] });
  });

  it("tells several damaged entries in a row as one place", () => {
    const directory = temporaryDirectory();
    const log = open(directory);
    append(log, 1, 3);
    const last = BEGIN + log.bytes - 1;
    append(log, 4, 4);
    overwrite(directory, BEGIN + FRAME_BYTES, Buffer.from("E"));
    overwrite(directory, last, Buffer.from("E"));
    overwrite(directory, BEGIN + FRAME_BYTES + frame(1).data.byteLength, new Uint8Array(1));
    const { sequences, damaged } = read(open(directory), 0);
    expect(sequences).toEqual([4]);
    expect(damaged).toMatchObject([{ at: BEGIN, end: last + 1, next: 4 }]);
  });

  // What is looked through is read a mebibyte at a time.
  it.each([-FRAME_BYTES, -8, -7, -1, 0, 1, 2])(
    "finds an entry that begins %d bytes behind the first mebibyte after a damaged one",
    (behind) => {
      const directory = temporaryDirectory();
      const log = open(directory);
      log.append({ ...frame(1), data: new Uint8Array(MEBIBYTE + behind - FRAME_BYTES) });
      append(log, 2, 2);
      overwrite(directory, BEGIN + FRAME_BYTES, Buffer.from("E"));
      expect(read(open(directory), 0)).toMatchObject({
        sequences: [2],
        damaged: [{ at: BEGIN, end: BEGIN + MEBIBYTE + behind }],
      });
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
    expect([log.fileBytes, statSync(join(directory, LOG_FILE)).size]).toEqual([16 << 20, 16 << 20]);
    append(log, 21, 22);
    expect(read(open(directory), 20).sequences).toEqual([21, 22]);
  });

  it("is not lengthened when it is used again", () => {
    const directory = temporaryDirectory();
    const log = open(directory);
    append(log, 1, 1);
    expect([log.fileBytes, statSync(join(directory, LOG_FILE)).size]).toEqual([MEBIBYTE, MEBIBYTE]);
    log.restart();
    expect(log.fileBytes).toBe(MEBIBYTE);
  });

  it.each([
    ["something else", "2026-01-01 started\n"],
    ["shorter than its beginning", "SLCLOG\0\u{1}salt"],
  ])("refuses a file that is %s, and leaves nothing open", (_what, content) => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, LOG_FILE), content);
    vi.clearAllMocks();
    expect(() => open(directory)).toThrow(/does not begin as a log of this version does/);
    expectAllClosed();
  });

  it("is for its owner only, also a file that was for others", () => {
    const directory = temporaryDirectory();
    const mode = () => statSync(join(directory, LOG_FILE)).mode & 0o777;
    open(directory);
    expect(mode()).toBe(0o600);
    chmodSync(join(directory, LOG_FILE), 0o644);
    open(directory);
    expect(mode()).toBe(0o600);
  });

  it("is created although an earlier creation was cut off, and closed", () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, `${LOG_FILE}.new`), "SLC");
    vi.clearAllMocks();
    FileLog.open(directory).close();
    expect(readdirSync(directory)).toEqual([LOG_FILE]);
    expectAllClosed();
  });
});

function expectAllClosed(): void {
  const files = vi.mocked(openSync).mock.results.map(({ value }) => value);
  expect(
    vi
      .mocked(closeSync)
      .mock.calls.map(([file]) => file)
      .sort(),
  ).toEqual(files.sort());
}

describe("what is on disk", () => {
  it("is the file with its name before it is used, each entry before it is answered, and that all were removed", () => {
    const log = open(temporaryDirectory());
    expect(vi.mocked(fsyncSync)).toHaveBeenCalledTimes(2);
    append(log, 1, 2);
    expect(vi.mocked(fdatasyncSync)).toHaveBeenCalledTimes(2);
    log.empty();
    expect(vi.mocked(fsyncSync)).toHaveBeenCalledTimes(3);
  });

  it("may come later in a log that need not outlive a power cut", () => {
    const log = FileLog.open(temporaryDirectory(), false);
    opened.push(log);
    append(log, 1, 2);
    expect(vi.mocked(fdatasyncSync)).not.toHaveBeenCalled();
  });

  it("is the whole entry if the system takes a part of it first", () => {
    const directory = temporaryDirectory();
    const log = open(directory);
    append(log, 1, 1);
    vi.mocked(writevSync).mockImplementationOnce((file, parts, at) =>
      writeSync(file, parts[0] as Uint8Array, 0, 5, at),
    );
    append(log, 2, 3);
    expect(read(open(directory), 0)).toEqual({ sequences: [1, 2, 3], damaged: [] });
  });

  it.each([
    ["ENOSPC", "the disk is full"],
    ["EIO", "EIO"],
  ])("is nothing of an entry that was refused with %s", (code, message) => {
    const directory = temporaryDirectory();
    const log = open(directory);
    append(log, 1, 1);
    vi.mocked(fdatasyncSync).mockImplementationOnce(() => {
      throw Object.assign(new Error(code), { code });
    });
    expect(() => log.append(frame(2, "refused"))).toThrow(message);
    expect(log.fileBytes).toBe(BEGIN + log.bytes);
    expect(readFileSync(join(directory, LOG_FILE)).includes("refused")).toBe(false);
    expect(read(open(directory), 0).sequences).toEqual([1]);
  });
});

it.each(["intact", "mended", "unreadable"])("a repair says of a beginning that it is %s", (expected) => {
  const directory = temporaryDirectory();
  const path = join(directory, LOG_FILE);
  append(open(directory), 1, 2);
  if (expected !== "intact") overwrite(directory, 0, new Uint8Array(16));
  if (expected === "unreadable") overwrite(directory, BEGIN + FRAME_BYTES, new Uint8Array(1));
  const before = readFileSync(path);
  vi.clearAllMocks();
  expect(mendBeginning(path)).toBe(expected);
  expectAllClosed();
  if (expected === "mended") expect(read(open(directory), 0)).toEqual({ sequences: [1, 2], damaged: [] });
  else expect(readFileSync(path).equals(before)).toBe(true);
});

it("says that no entry can be found if the first one's salt is damaged too", () => {
  const directory = temporaryDirectory();
  const log = open(directory);
  for (const sequence of [1, 2]) log.append({ sequence, atMs: 0, nextOffset: 0, data: new Uint8Array(9) });
  const path = join(directory, LOG_FILE);
  overwrite(directory, 0, new Uint8Array(1));
  overwrite(directory, BEGIN, new Uint8Array(4));
  const before = readFileSync(path);
  expect(mendBeginning(path)).toBe("unreadable");
  expect(readFileSync(path).equals(before)).toBe(true);
});
