import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { prepareMessage } from "../../src/commands/import/prepare-message.js";
import { progressText } from "../../src/commands/import/progress-tracker.js";
import {
  csvMessage,
  csvRows,
  type FileRecord,
  readRecords,
} from "../../src/commands/import/reading/read-records.js";

async function* inPieces(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

async function rows(text: string, size = 1_000): Promise<(readonly string[])[]> {
  const all: (readonly string[])[] = [];
  for await (const { fields } of csvRows(inPieces(text, size))) all.push(fields);
  return all;
}

async function records(bytes: Uint8Array, format: "jsonl" | "csv", isGzip = false): Promise<FileRecord[]> {
  const all: FileRecord[] = [];
  const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, i) =>
    bytes.subarray(i * 7, i * 7 + 7),
  );
  for await (const record of readRecords(Readable.from(pieces), { format, isGzip }).records) all.push(record);
  return all;
}

describe("CSV", () => {
  it.each([
    [
      "plain",
      "a,b\n1,2\n",
      [
        ["a", "b"],
        ["1", "2"],
      ],
    ],
    [
      "no line end at the end",
      "a,b\n1,2",
      [
        ["a", "b"],
        ["1", "2"],
      ],
    ],
    [
      "Windows line ends",
      "a,b\r\n1,2\r\n",
      [
        ["a", "b"],
        ["1", "2"],
      ],
    ],
    [
      "empty fields",
      ",\n,x\n",
      [
        ["", ""],
        ["", "x"],
      ],
    ],
    ["commas, line ends and quotation marks within quotation marks", '"a,""b""\nc",d\n', [['a,"b"\nc', "d"]]],
    ["a quotation mark within a plain field", 'a"b,c\n', [['a"b', "c"]]],
  ])("%s", async (_name, text, expected) => {
    expect(await rows(text)).toEqual(expected);
  });

  it("reads any table, in chunks of any size", async () => {
    const table = fc.array(fc.array(fc.string(), { minLength: 2, maxLength: 3 }), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(table, fc.integer({ min: 1, max: 5 }), async (written, size) => {
        const text = written
          .map((row) => row.map((field) => `"${field.replaceAll('"', '""')}"`).join(","))
          .join("\n");
        expect(await rows(text, size)).toEqual(written);
      }),
    );
  });

  it("counts all kinds of line ends, also within quotation marks", async () => {
    const starts: number[] = [];
    const text = 'a,b\r\n"1\r\n2\n3",x\r\n\r\n4,"5\n"\n6,7';
    for await (const { line } of csvRows(inPieces(text, 2))) starts.push(line);
    expect(starts).toEqual([1, 2, 5, 6, 8]);
  });

  it("keeps a row's text as it is in the file, without its line end", async () => {
    const raws: string[] = [];
    for await (const { raw } of csvRows(inPieces('ä,b\r\n"c""\r\nd",ü\r\nlast,🎉', 3))) raws.push(raw);
    expect(raws).toEqual(["ä,b", '"c""\r\nd",ü', "last,🎉"]);
  });

  it("skips a byte order mark", async () => {
    const [row] = await rows("\ufefftype,userId\ntrack,1\n", 1);
    expect(row).toEqual(["type", "userId"]);
  });

  it("keeps the rows before a quotation mark that is never closed, and refuses the rest", async () => {
    const found = await records(Buffer.from('type,userId\ntrack,1\ntrack,"2\ntrack,3\n'), "csv");
    expect(found).toMatchObject([
      { line: 2, value: { ok: true } },
      {
        line: 3,
        raw: 'track,"2\ntrack,3\n',
        value: { ok: false, reason: expect.stringContaining("closing quotation mark") },
      },
    ]);
  });

  it("stops at a row over 1 MB, and names its line", async () => {
    const text = `type,userId\r\n"tr\r\nack",1\r\ntrack,"2\r\n${"track,3\r\n".repeat(200_000)}`;
    const reading = rows(text, 65_536);
    await expect(reading).rejects.toMatchObject({
      exit: "usage",
      message: "The CSV row that starts on line 4 is longer than 1 MB",
    });
  });

  it("puts columns into fields by name, and converts numbers only in some objects", () => {
    const header = [
      "type",
      "userId",
      "properties.plan",
      "properties.seats",
      "properties.zip",
      "traits.vip",
      "x",
    ];
    expect(csvMessage(header, ["track", "42", "pro", "5", "007", "true", ""])).toEqual({
      type: "track",
      userId: "42",
      properties: { plan: "pro", seats: 5, zip: "007" },
      traits: { vip: true },
    });
    expect(csvMessage(["properties.__proto__.polluted"], ["1"])).toEqual({});
  });

  it("names the line of a row with a wrong number of fields", async () => {
    const [good, short] = await records(Buffer.from('type,userId\n"tr\nack",1\ntrack\n'), "csv");
    expect(good).toMatchObject({ line: 2, value: { ok: true } });
    expect(short).toMatchObject({ line: 4, value: { ok: false } });
  });
});

describe("JSON lines", () => {
  it("are read with and without compression; empty ones are skipped but counted", async () => {
    const text = Buffer.from('{"a":"ä"}\n\n{"b":1}\r\nnonsense');
    for (const [bytes, isGzip] of [
      [text, false],
      [gzipSync(text), true],
    ] as const) {
      const found = await records(bytes, "jsonl", isGzip);
      expect(found.map(({ line, value }) => [line, value.ok])).toEqual([
        [1, true],
        [3, true],
        [4, false],
      ]);
      expect(found[0]?.value).toEqual({ ok: true, message: { a: "ä" } });
    }
  });

  it("are refused if the compressed file is truncated", async () => {
    const cut = gzipSync("x".repeat(10_000)).subarray(0, 20);
    await expect(records(cut, "jsonl", true)).rejects.toThrow("unexpected end of file");
  });
});

describe("a record", () => {
  const record = (message: unknown, line = 1): FileRecord => ({
    line,
    raw: JSON.stringify(message),
    value: { ok: true, message },
  });

  it("gets an id from its line number and text", () => {
    const message = { type: "track", event: "Paid", userId: "1" };
    const [first, again, elsewhere] = [record(message), record(message), record(message, 2)].map((one) => {
      const prepared = prepareMessage(one);
      return prepared.ok ? prepared.messageId : "";
    });
    expect(first).toMatch(/^import-[0-9a-f]{32}$/);
    expect(again).toBe(first);
    expect(elsewhere).not.toBe(first);
  });

  it("keeps its own id, and is converted like in the collector", () => {
    const prepared = prepareMessage(
      record({ type: "page", userId: 7, traits: { url: "/" }, messageId: "m" }),
    );
    expect(prepared).toMatchObject({ ok: true, messageId: "m" });
    if (prepared.ok)
      expect(JSON.parse(prepared.json)).toMatchObject({ userId: "7", properties: { url: "/" } });
  });

  it.each([
    ["a list", [1], "not_an_object"],
    ["a missing event", { type: "track", userId: "1" }, "event_not_defined"],
    ["too many bytes", { type: "track", userId: "1", event: "x".repeat(33_000) }, "message_too_large"],
  ])("is refused for %s", (_name, message, code) => {
    expect(prepareMessage(record(message))).toMatchObject({ ok: false, issues: [{ code }] });
  });
});

it("shows progress, rate and remaining time", () => {
  expect(progressText({ done: 12_345, share: 0.5, rate: 6_172.6, etaMs: 61_000 })).toBe(
    "████████████░░░░░░░░░░░░  50 %  12,345 messages  6,173/s  1 min 1 s left",
  );
  expect(progressText({ done: 1, share: undefined, rate: 1, etaMs: undefined })).toBe("1 messages  1/s");
});
