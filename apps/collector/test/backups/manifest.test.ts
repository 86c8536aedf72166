import { describe, expect, it } from "vitest";
import {
  type BackupManifest,
  checkUsable,
  decodeManifest,
  encodeManifest,
  entryKind,
  newManifest,
} from "../../src/backups/manifest.js";
import { readTar, type TarEntry, tarEnd, tarEntry } from "../../src/backups/tar.js";
import { encodeKnown, knownPieces } from "../../src/backups/transfer.js";

const MANIFEST = newManifest({
  createdAt: "2026-11-22T20:45:00.123Z",
  origin: "org_1",
  version: "0.1.0",
  secretKey: "included",
  counts: { messages: 1, documents: {} },
  files: [{ name: "sluice.db", bytes: 3, layout: 1, pieces: ["ab".repeat(32)] }],
  deletions: [],
});

describe("a manifest", () => {
  it("is read as it was written, and refused after any change", () => {
    const bytes = encodeManifest(MANIFEST);
    expect(decodeManifest(bytes, "it")).toEqual(MANIFEST);
    for (const at of [0, 30, 80, bytes.length - 3]) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => decodeManifest(changed, "it")).toThrow(/it is damaged: its checksum is wrong/);
    }
  });

  const [file = { name: "", bytes: 0, pieces: [] }] = MANIFEST.files;
  it.each<[string, object]>([
    ["an id that is a path", { id: "../../somewhere" }],
    ["a file outside of the folder", { files: [{ ...file, name: "../sluice.db" }] }],
    ["a file without a name", { files: [{ ...file, name: "" }] }],
    ["a piece that is a path", { files: [{ ...file, pieces: ["../../../../etc/passwd"] }] }],
    ["a size that is none", { files: [{ ...file, bytes: -1 }] }],
    ["no files", { files: undefined }],
    ["no deletions", { deletions: undefined }],
    ["a deletion that is none", { deletions: [null] }],
    ["no counts", { counts: undefined }],
    ["a deletion of users that are none", { deletions: [{ id: "del_1", users: [null] }] }],
  ])("is refused with %s, although its checksum is right", (_, change) => {
    const bytes = encodeManifest({ ...MANIFEST, ...change } as BackupManifest);
    expect(() => decodeManifest(bytes, "it")).toThrow("it is no manifest that this version can read");
  });

  it("has an id that sorts by time and is a file's name", () => {
    expect(MANIFEST.id).toBe("20261122T204500123Z");
  });

  it.each<[string, Partial<BackupManifest>, RegExp]>([
    [
      "a newer format",
      { format: 2 },
      /newer version \(0\.1\.0\): its format is 2, this version knows 1\. Install/,
    ],
    [
      "a newer layout of a database",
      { files: [{ name: "sluice.db", bytes: 0, layout: 99, pieces: [] }] },
      /the layout of sluice\.db is 99, this version knows up to \d+/,
    ],
    [
      "a database that this version does not know",
      { files: [{ name: "x.db", bytes: 0, layout: 1, pieces: [] }] },
      /layout of x\.db/,
    ],
    [
      "another byte order",
      { byteOrder: MANIFEST.byteOrder === "LE" ? "BE" : "LE", platform: "linux-s390x" },
      /another byte order \(linux-s390x/,
    ],
  ])("cannot be used with %s", (_, change, message) => {
    expect(() => checkUsable({ ...MANIFEST, ...change })).toThrow(message);
  });

  it("can be used on another architecture of the same byte order", () => {
    checkUsable({ ...MANIFEST, platform: "darwin-arm64" });
  });
});

it.each([
  [`pieces/ab/${"ab".repeat(32)}`, "piece"],
  ["backups/20261122T204500123Z.json", "manifest"],
  ["backups/../../etc.json", undefined],
  [`/pieces/ab/${"ab".repeat(32)}`, undefined],
  [`pieces/../${"ab".repeat(32)}`, undefined],
])("takes %s for %s", (name, kind) => {
  expect(entryKind(name)?.kind).toBe(kind);
});

async function entriesOf(bytes: Uint8Array, chunkBytes: number): Promise<TarEntry[]> {
  const chunks = async function* () {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  };
  const entries: TarEntry[] = [];
  for await (const entry of readTar(chunks())) entries.push(entry);
  return entries;
}

describe("an archive", () => {
  const archive = Buffer.concat([
    tarEntry("empty", new Uint8Array(), 0),
    tarEntry("full", Buffer.alloc(512, "f"), 0),
    tarEntry("more", Buffer.alloc(513, "m"), 0),
    tarEnd(),
  ]);

  it.each([1, 100, 512, 4_096])("is read in chunks of %d bytes", async (chunkBytes) => {
    const entries = await entriesOf(archive, chunkBytes);
    expect(entries.map(({ name, bytes, at }) => [name, bytes.length, at])).toEqual([
      ["empty", 0, 512],
      ["full", 512, 1_024],
      ["more", 513, 2_048],
    ]);
  });

  it("is refused if it is cut off at any block", async () => {
    for (let end = 0; end < archive.length - 1_024; end += 512)
      await expect(entriesOf(archive.subarray(0, end), 4_096)).rejects.toThrow(/cut off/);
  });

  it("is refused if an entry has a negative size", async () => {
    const header = tarEntry("empty", new Uint8Array(), 0);
    header.write("-1000\0", 124, "latin1");
    header.fill(" ", 148, 156);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
    await expect(entriesOf(Buffer.concat([header, tarEnd()]), 4_096)).rejects.toThrow(/damaged/);
  });

  it("is refused if a header is damaged", async () => {
    const damaged = Buffer.from(archive);
    damaged[2] = (damaged[2] ?? 0) ^ 1;
    await expect(entriesOf(damaged, 4_096)).rejects.toThrow(/damaged/);
  });
});

it("names known pieces by the beginning of their checksum", () => {
  const hashes = ["ab".repeat(32), "cd".repeat(32)];
  const isKnown = knownPieces(encodeKnown(hashes));
  expect(hashes.map((hash) => isKnown?.(hash))).toEqual([true, true]);
  expect(isKnown?.("ef".repeat(32))).toBe(false);
  expect(knownPieces("abc=")).toBeUndefined();
});
