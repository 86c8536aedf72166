import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { temporaryDirectories } from "@sluice/event-log/testing";
import { describe, expect, it } from "vitest";
import { BackupFolder } from "../../src/backups/backup-folder.js";
import { encodeManifest, manifestName, newManifest, pieceName, sha256 } from "../../src/backups/manifest.js";
import { restoreBackup } from "../../src/backups/restore.js";
import { tarEnd, tarEntry } from "../../src/backups/tar.js";

const temporaryDirectory = temporaryDirectories();

/** What a collector sends for a backup of one piece. */
function sentBackup(text: string, minute: number) {
  const piece = Buffer.from(text);
  const hash = sha256(piece);
  const manifest = newManifest({
    createdAt: `2026-11-22T20:${minute}:00.123Z`,
    origin: "org_1",
    version: "0.1.0",
    secretKey: "included",
    counts: { messages: 1, documents: {} },
    files: [{ name: "sluice.db", bytes: piece.length, layout: 1, pieces: [hash] }],
    deletions: [],
  });
  const entries = [
    tarEntry(pieceName(hash), piece, 0),
    tarEntry(manifestName(manifest), encodeManifest(manifest), 0),
  ];
  return { manifest, entries };
}

async function* sending(entries: readonly Uint8Array[], end?: Error): AsyncGenerator<Uint8Array> {
  yield* entries;
  if (end !== undefined) throw end;
  yield tarEnd();
}

const textHash = (text: string): string => sha256(Buffer.from(text));

/** The names of all files below `pieces`. */
function piecesIn(path: string): string[] {
  const pieces = join(path, "pieces");
  return readdirSync(pieces)
    .flatMap((name) => readdirSync(join(pieces, name)))
    .sort();
}

it("keeps nothing of a backup that is cut off behind its manifest", async () => {
  const folder = new BackupFolder(join(temporaryDirectory(), "backups"));
  const first = sentBackup("first", 10);
  await folder.take(async () => sending(first.entries));
  const cut = folder.take(async () => sending(sentBackup("second", 20).entries, new Error("terminated")));
  await expect(cut).rejects.toThrow("terminated");
  expect(await folder.verify()).toEqual({
    backups: [{ manifest: first.manifest, bad: [] }],
    damaged: [],
  });
  // The next backup is not told that the folder has the piece.
  const third = sentBackup("second", 30);
  await folder.take(async () => sending(third.entries));
  expect((await folder.verify()).backups.map(({ bad }) => bad)).toEqual([[], []]);
});

describe("a damaged manifest", () => {
  async function threeBackups() {
    const path = join(temporaryDirectory(), "backups");
    const folder = new BackupFolder(path);
    const sent = [sentBackup("first", 10), sentBackup("second", 20), sentBackup("third", 30)];
    for (const { entries } of sent) await folder.take(async () => sending(entries));
    const [, second] = sent;
    const id = second?.manifest.id ?? "";
    const file = join(path, "backups", `${id}.json`);
    return { path, folder, sent, id, file };
  }
  const damages: readonly [string, (file: string) => void, string][] = [
    ["a changed byte", (file) => appendFileSync(file, " "), "is damaged: its checksum is wrong"],
    ["nothing", (file) => writeFileSync(file, ""), "is damaged: its checksum is wrong"],
    [
      "the manifest of another backup",
      (file) => copyFileSync(join(file, "..", "20261122T201000123Z.json"), file),
      "names another backup",
    ],
    [
      "a folder",
      (file) => {
        rmSync(file);
        mkdirSync(file);
      },
      "cannot be read (EISDIR)",
    ],
  ];

  it.each(damages)(
    "with %s in it is listed, and the other backups are restored",
    async (_, damage, reason) => {
      const { path, folder, sent, id, file } = await threeBackups();
      damage(file);
      const [first, , third] = sent.map(({ manifest }) => manifest);
      const damaged = [{ id, reason }];
      expect(await folder.list()).toEqual({ manifests: [first, third], damaged });
      expect((await folder.verify()).damaged).toEqual(damaged);
      const directory = join(temporaryDirectory(), "data");
      const report = await restoreBackup({ from: path, directory, backupId: first?.id ?? "" });
      expect(report.damaged).toEqual(damaged);
      expect(readFileSync(join(directory, "sluice.db"), "utf8")).toBe("first");
      await expect(
        restoreBackup({ from: path, directory: join(temporaryDirectory(), "data"), backupId: id }),
      ).rejects.toThrow(`the manifest of backup ${id} ${reason}`);
    },
  );

  it("keeps its pieces while it is there: it may be one that a newer version can read", async () => {
    const { path, folder, file } = await threeBackups();
    const contents = readFileSync(file);
    appendFileSync(file, " ");
    const taken = await folder.take(async () => sending(sentBackup("fourth", 40).entries), { keep: 1 });
    expect(taken.damaged).toHaveLength(1);
    const cut = folder.take(async () => sending(sentBackup("fifth", 50).entries, new Error("terminated")));
    await expect(cut).rejects.toThrow("terminated");
    expect(piecesIn(path)).toEqual(["first", "second", "third", "fourth"].map(textHash).sort());
    writeFileSync(file, contents);
    await folder.take(async () => sending(sentBackup("sixth", 55).entries), { keep: 3 });
    expect((await folder.verify()).backups.map(({ bad }) => bad)).toEqual([[], [], []]);
    expect(piecesIn(path)).toEqual(["second", "fourth", "sixth"].map(textHash).sort());
  });

  it("is the reason if there is no other backup", async () => {
    const path = join(temporaryDirectory(), "backups");
    const { entries, manifest } = sentBackup("text", 10);
    await new BackupFolder(path).take(async () => sending(entries));
    appendFileSync(join(path, manifestName(manifest)), " ");
    await expect(
      restoreBackup({ from: path, directory: join(temporaryDirectory(), "data") }),
    ).rejects.toThrow(/holds no usable backup: the manifest of backup \w+ is damaged: its checksum is wrong/);
  });
});

it("restores into a place once, also if two restores run", async () => {
  const place = temporaryDirectory();
  const { entries } = sentBackup("text", 10);
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slow = async function* (): AsyncGenerator<Uint8Array> {
    begun.resolve();
    await goOn.promise;
    yield* sending(entries);
  };
  const directory = join(place, "data");
  const first = restoreBackup({ from: slow(), directory });
  await begun.promise;
  await restoreBackup({ from: sending(entries), directory });
  goOn.resolve();
  await expect(first).rejects.toThrow(/the folder .* is not empty/);
  expect(readFileSync(join(directory, "sluice.db"), "utf8")).toBe("text");
  expect(readdirSync(place)).toEqual(["data"]);
});

it("fills no disk with a file that is longer than its manifest says", async () => {
  const place = temporaryDirectory();
  const { manifest, entries } = sentBackup("text", 10);
  const [piece = new Uint8Array()] = entries;
  const files = manifest.files.map((file) => ({ ...file, pieces: file.pieces.concat(file.pieces) }));
  const longer = tarEntry(manifestName(manifest), encodeManifest({ ...manifest, files }), 0);
  await expect(
    restoreBackup({ from: sending([piece, longer]), directory: join(place, "data") }),
  ).rejects.toThrow(/has a wrong length/);
  expect(readdirSync(place)).toEqual([]);
});
