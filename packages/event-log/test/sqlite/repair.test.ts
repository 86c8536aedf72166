import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { repairStore } from "../../src/sqlite/repair/repair-store.js";
import { idsBatch } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";
import {
  copyFolder,
  type Damage,
  damage,
  damagedFolderClock,
  makeFolder,
  placesIn,
} from "./damaged-folder.js";
import { verifyRepair } from "./verify-folder.js";

const temporaryDirectory = temporaryDirectories();
const stride = process.env.SLUICE_DAMAGED_PAGES;

let made: string;
const copy = (): string => copyFolder(made, join(temporaryDirectory(), "copy"), ["sluice.db"]);

beforeAll(async () => {
  made = temporaryDirectory();
  await makeFolder(made);
}, 600_000);

describe("a database with 4 KB of damage", { timeout: 300_000 }, () => {
  it.each<Damage>(["zeroed", "garbled"])(
    "is repaired wherever that is, with everything that is elsewhere: %s",
    { timeout: 1_800_000 },
    async (how) => {
      const all = placesIn(join(made, "sluice.db"), stride === undefined ? undefined : Number(stride));
      expect(all.length).toBeGreaterThanOrEqual(16);
      // By default two of three places, each in one of the two ways.
      const places = stride === undefined ? all.filter((_, i) => i % 3 === (how === "zeroed" ? 0 : 1)) : all;
      for (const { name, at } of places) {
        const directory = copy();
        damage(join(directory, "sluice.db"), at, how);
        await verifyRepair(directory).catch((error: Error) => {
          throw new Error(`${name}, ${how} at ${at}: ${error.message}`, { cause: error });
        });
      }
    },
  );

  it("is repaired without its schema and the positions of destinations", async () => {
    const directory = copy();
    const file = join(directory, "sluice.db");
    const consumers = placesIn(file).find(({ name }) => name.startsWith("consumers,"));
    damage(file, consumers?.at ?? 0, "zeroed");
    // The end of the first page, which holds the schema. Its beginning holds the version.
    damage(file, 3 * 4096, "zeroed");
    const { lost } = await repairStore({ directory });
    expect(lost).toContainEqual(
      expect.stringMatching(/^the position of dst_1 in the log: it continues at offset/),
    );
  });

  it("keeps the damaged file, readable only by its owner", async () => {
    const directory = copy();
    damage(join(directory, "sluice.db"), 0, "zeroed");
    const { setAside, rebuilt } = await repairStore({ directory });
    expect(setAside).toEqual([join(directory, "sluice.db.damaged-1")]);
    expect(rebuilt).toEqual(["SQLite's own indexes"]);
    expect(readdirSync(directory).sort()).toEqual(["sluice.db", "sluice.db.damaged-1"]);
    for (const file of readdirSync(directory))
      expect(statSync(join(directory, file)).mode & 0o777).toBe(0o600);
    damage(join(directory, "sluice.db"), 0, "zeroed");
    expect((await repairStore({ directory })).setAside).toEqual([join(directory, "sluice.db.damaged-2")]);
  });

  it("is repaired after an earlier repair was killed at any point", async () => {
    const directory = copy();
    const file = join(directory, "sluice.db");
    damage(file, 0, "zeroed");
    // The new one was under way.
    mkdirSync(join(directory, "repair.draft"));
    writeFileSync(join(directory, "repair.draft", "sluice.db"), "half of it");
    // Before it took the damaged one's place.
    linkSync(file, join(directory, "sluice.db.damaged-1"));
    await verifyRepair(directory);
    expect(existsSync(join(directory, "repair.draft"))).toBe(false);
    // After it: what is left is removed.
    mkdirSync(join(directory, "repair.draft"));
    expect(await repairStore({ directory })).toMatchObject({ damaged: [] });
    expect(existsSync(join(directory, "repair.draft"))).toBe(false);
  });

  it.each([
    ["the header", 0],
    ["the first page of a table", 3 * 16_384],
  ])("has what only its write-ahead log has: %s is damaged", async (_place, at) => {
    const directory = temporaryDirectory();
    const tuning = { checkpointBytes: 1 << 30 };
    const store = await openSqliteStore({ directory, clock: damagedFolderClock(), tuning });
    const ids = Array.from({ length: 300 }, (_, i) => `m${i}`);
    for (const id of ids) await store.log.append(idsBatch([id]));
    const crashed = copyFolder(directory, join(temporaryDirectory(), "crashed"), [
      "sluice.db",
      "sluice.db-wal",
      "entries.log",
    ]);
    await store.close();
    damage(join(crashed, "sluice.db"), at, "zeroed");
    await repairStore({ directory: crashed });
    const after = await openSqliteStore({ directory: crashed, clock: damagedFolderClock() });
    expect((await after.log.append(idsBatch([...ids, "new"]))).duplicates).toHaveLength(300);
    await after.close();
    expect(await repairStore({ directory: crashed })).toMatchObject({ damaged: [] });
  });
});

describe("a folder whose database is empty or missing", () => {
  const open = (directory: string) => openSqliteStore({ directory, clock: damagedFolderClock() });

  it.each([
    ["empty, beside a secret key", "sluice.db is empty", "secret.key", true],
    ["missing, beside a secret key and a token", "sluice.db is missing", "admin-token, secret.key", false],
    ["empty, beside profiles", "sluice.db is empty", "profiles.db", true],
    ["missing, beside a write-ahead log", "sluice.db is missing", "sluice.db-wal", false],
    ["missing, beside a damaged database", "sluice.db is missing", "sluice.db.damaged-1", false],
  ])("is not silently replaced by a new one: %s", async (_case, state, signs, isThere) => {
    const directory = temporaryDirectory();
    if (isThere) writeFileSync(join(directory, "sluice.db"), "");
    for (const sign of signs.split(", ")) writeFileSync(join(directory, sign), "something");
    const refused = await open(directory).catch((error: Error) => error.message);
    expect(refused).toContain(`${join(directory, state)}, but the folder had one before (it has ${signs})`);
    expect(refused).toContain("Restore it from a backup; to start over instead, move the whole folder away");
    expect(readdirSync(directory).sort()).toEqual(
      [...(isThere ? ["sluice.db"] : []), ...signs.split(", ")].sort(),
    );
  });

  it("is created if the folder holds only a secret key", async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, "secret.key"), "something");
    await (await open(directory)).close();
    // From now on it is beside a database.
    writeFileSync(join(directory, "sluice.db"), "");
    await expect(open(directory)).rejects.toThrow("(it has secret.key)");
  });

  it("is created if no other file shows that there was one", async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, "sluice.db"), "");
    mkdirSync(join(directory, "exports"));
    await (await open(directory)).close();
  });

  it("has nothing to repair", async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, "sluice.db"), "");
    await expect(repairStore({ directory })).rejects.toThrow(/is empty: there is nothing in it to repair/);
    copyFileSync(join(made, "sluice.db"), join(directory, "sluice.db"));
    expect(await repairStore({ directory })).toMatchObject({ damaged: [] });
  });
});
