import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { endianness } from "node:os";
import { join } from "node:path";
import { temporaryDirectories } from "@sluice/event-log/testing";
import { packTar } from "modern-tar";
import { describe, expect, it } from "vitest";
import {
  type BackupInfo,
  CHECKSUMS_FILE,
  INFO_FILE,
  newInfo,
  readArchive,
} from "../../src/backups/read-archive.js";
import { restoreBackup } from "../../src/backups/restore.js";

const temporaryDirectory = temporaryDirectories();

const INFO = newInfo({
  createdAt: "2026-11-22T20:45:00.123Z",
  version: "0.1.0",
  secretKey: "included",
  counts: { messages: 1, documents: { source: 2 } },
  layouts: { "sluice.db": 1 },
});

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

type Files = readonly (readonly [name: string, contents: string])[];

function filesOf(info: object, data: Files = [["sluice.db", "messages"]]): Files {
  const files: Files = [[INFO_FILE, JSON.stringify(info)], ...data];
  return [
    ...files,
    [CHECKSUMS_FILE, files.map(([name, contents]) => `${sha256(contents)}  ${name}\n`).join("")],
  ];
}

function packed(files: Files): Promise<Uint8Array> {
  const mtime = new Date(0);
  return packTar(
    files.map(([name, contents]) => ({ header: { name, size: contents.length, mtime }, body: contents })),
  );
}

async function* sending(archive: Uint8Array, chunkBytes = 4_096): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < archive.length; at += chunkBytes) yield archive.subarray(at, at + chunkBytes);
}

async function readFiles(files: Files) {
  return readArchive(sending(await packed(files)));
}

describe("an archive", () => {
  it.each([1, 100, 512, 4_096])("is read in chunks of %d bytes", async (chunkBytes) => {
    const archive = await packed(filesOf(INFO));
    expect(await readArchive(sending(archive, chunkBytes))).toEqual({ info: INFO, bytes: 8 });
  });

  it("is refused if it is cut off anywhere", async () => {
    const archive = await packed(filesOf(INFO));
    // The last 1,024 bytes are zeros that end every tar archive.
    for (let end = 0; end < archive.length - 1_024; end += 128)
      await expect(readArchive(sending(archive.subarray(0, end))), `${end} bytes`).rejects.toMatchObject({
        name: "UnusableBackup",
      });
  });

  it("is refused if a byte of a file was changed", async () => {
    const archive = await packed(filesOf(INFO, [["sluice.db", "x".repeat(2_000)]]));
    const at = Buffer.from(archive).indexOf("x".repeat(2_000));
    for (const place of [at, at + 1_000, at + 1_999]) {
      const damaged = Uint8Array.from(archive);
      damaged[place] = (damaged[place] ?? 0) ^ 1;
      await expect(readArchive(sending(damaged))).rejects.toThrow(/checksum is wrong \(sluice\.db\)/);
    }
  });

  it.each<[string, Files, RegExp]>([
    ["a path", filesOf(INFO, [["../sluice.db", "x"]]), /it has other files/],
    ["a hidden file", filesOf(INFO, [[".bashrc", "x"]]), /it has other files/],
    ["the same file twice", filesOf(INFO, [...filesOf(INFO).slice(1, 2), ["sluice.db", ""]]), /twice/],
    ["a file without a checksum", [...filesOf(INFO), ["admin-token", "x"]], /checksum is wrong/],
    ["a checksum without a file", filesOf(INFO).filter(([name]) => name !== "sluice.db"), /file is missing/],
    ["no description", filesOf(INFO).slice(1), /not complete/],
    ["no checksums", filesOf(INFO).slice(0, -1), /not complete/],
    ["another description", filesOf({ hello: "world" }), /backup\.json cannot be read/],
    ["a long description", filesOf({ ...INFO, version: "x".repeat(2 ** 20) }), /backup\.json is too long/],
  ])("is refused with %s", async (_, files, reason) => {
    await expect(readFiles(files)).rejects.toThrow(reason);
  });

  it("is refused if it is none", async () => {
    for (const bytes of [Buffer.alloc(2_000, "x"), Buffer.alloc(0), Buffer.alloc(2_048)])
      await expect(readArchive(sending(bytes))).rejects.toMatchObject({ name: "UnusableBackup" });
  });

  it("ends with the error that ended its bytes", async () => {
    const archive = await packed(filesOf(INFO));
    const broken = async function* () {
      yield archive.subarray(0, 700);
      throw new TypeError("terminated");
    };
    await expect(readArchive(broken())).rejects.toThrow(new TypeError("terminated"));
  });

  it.skipIf(process.platform === "win32")(
    "can be unpacked, checked and packed by other programs",
    async () => {
      const folder = temporaryDirectory();
      writeFileSync(join(folder, "a.tar"), await packed(filesOf(INFO)));
      const script =
        "mkdir data && tar -xf a.tar -C data && cd data && sha256sum -c SHA256SUMS && tar -cf ../b.tar .";
      expect(execFileSync("sh", ["-c", script], { cwd: folder }).toString()).toBe(
        "backup.json: OK\nsluice.db: OK\n",
      );
      const directory = join(folder, "restored");
      await restoreBackup({ from: join(folder, "b.tar"), directory });
      expect(readdirSync(directory)).toEqual(["sluice.db"]);
    },
  );
});

it.each<[string, Partial<BackupInfo>, RegExp]>([
  [
    "a newer format",
    { format: 2 },
    /newer version \(0\.1\.0\): its format is 2, this version knows 1\. Install/,
  ],
  [
    "a newer layout of a database",
    { layouts: { "sluice.db": 99 } },
    /the layout of sluice\.db is 99, this version knows up to \d+/,
  ],
  ["a database that this version does not know", { layouts: { "x.db": 1 } }, /layout of x\.db/],
  [
    "another byte order",
    { byteOrder: endianness() === "LE" ? "BE" : "LE", platform: "linux-s390x" },
    /another byte order \(linux-s390x/,
  ],
])("a backup with %s is refused before its data is read", async (_, change, reason) => {
  const [info = ["", ""]] = filesOf({ ...INFO, ...change });
  await expect(readFiles([info])).rejects.toThrow(reason);
});

it("a backup of another architecture with the same byte order is used", async () => {
  expect((await readFiles(filesOf({ ...INFO, platform: "darwin-arm64" }))).bytes).toBe(8);
});

describe("a restore", () => {
  it("leaves nothing if a checksum is wrong", async () => {
    const place = temporaryDirectory();
    const files = filesOf(INFO).map(
      ([name, text]) => [name, name === "sluice.db" ? "another" : text] as const,
    );
    const restoring = restoreBackup({ from: sending(await packed(files)), directory: join(place, "data") });
    await expect(restoring).rejects.toThrow(/checksum is wrong/);
    expect(readdirSync(place)).toEqual([]);
  });

  it("into the same place as another one fails, and leaves that alone", async () => {
    const place = temporaryDirectory();
    const archive = await packed(filesOf(INFO));
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const slow = async function* (): AsyncGenerator<Uint8Array> {
      begun.resolve();
      await goOn.promise;
      yield* sending(archive);
    };
    const directory = join(place, "data");
    const first = restoreBackup({ from: slow(), directory });
    await begun.promise;
    await restoreBackup({ from: sending(archive), directory });
    goOn.resolve();
    await expect(first).rejects.toThrow(/the folder .* is not empty/);
    expect(readFileSync(join(directory, "sluice.db"), "utf8")).toBe("messages");
    expect(readdirSync(place)).toEqual(["data"]);
  });
});
