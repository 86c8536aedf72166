import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { Store } from "../../src/ports/store.js";
import { DATABASE_FILE } from "../../src/sqlite/database/database-files.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { repairStore } from "../../src/sqlite/repair/repair-store.js";
import { batchOf } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";
import { damagedFolderClock, idOf, makeFolder, userOf } from "./damaged-folder.js";

const temporaryDirectory = temporaryDirectories();
const SEALED = 500;

/** A bad block within a page: the row is there, and what it holds is zeros. */
function zeroParts(directory: string, from: number, to: number): void {
  const database = new DatabaseSync(join(directory, DATABASE_FILE));
  const { changes } = database
    .prepare(
      "UPDATE sidecars SET data = zeroblob(length(data)) WHERE key & 255 BETWEEN ? AND ? AND key < 512",
    )
    .run(from, to);
  database.close();
  expect(changes).toBeGreaterThan(0);
}

/** The offsets of sealed messages that a look-up by id says are not there. */
async function missing(store: Store): Promise<number[]> {
  const found = await Promise.all(
    Array.from({ length: SEALED }, (_, offset) =>
      store.log.find({ messageId: idOf(offset) }, { limit: 1 }).then(
        ({ items }) => items.length > 0,
        (error: { code?: string }) => error.code === "data_damaged",
      ),
    ),
  );
  return found.flatMap((isThere, offset) => (isThere ? [] : [offset]));
}

describe("zeros in the indexes of a sealed segment", () => {
  it.each<[name: string, from: number, to: number]>([
    ["ids", 0, 63],
    ["the third words of ids", 128, 191],
    ["types and events", 192, 192],
    ["the filter", 193, 193],
  ])("%s: are told, and never taken for a message that is not there", async (_name, from, to) => {
    const directory = temporaryDirectory();
    await makeFolder(directory);
    zeroParts(directory, from, to);
    const told: string[] = [];
    const options = { directory, clock: damagedFolderClock(), onDamage: (what: string) => told.push(what) };
    const store = await openSqliteStore(options);
    expect(await missing(store)).toEqual([]);
    // A message that may be new is stored: a duplicate is better than a loss.
    await store.log.append(batchOf([{ messageId: idOf(7), userId: userOf(7) }], { sourceId: "src_0" }));
    if (from !== 192) expect(told).toContainEqual(expect.stringMatching(/^indexes of the log's segment 1/));
    await store.close();

    await repairStore({ directory, nowMs: damagedFolderClock().now() });
    const repaired = await openSqliteStore({ ...options, onDamage: (what) => expect.fail(what) });
    expect(await missing(repaired)).toEqual([]);
    await repaired.close();
  });

  it("users: a search by user says so", async () => {
    const directory = temporaryDirectory();
    await makeFolder(directory);
    zeroParts(directory, 64, 127);
    const store = await openSqliteStore({ directory, clock: damagedFolderClock() });
    const search = async () => {
      for (let cursor: string | undefined; ; ) {
        const page = await store.log.find(
          { userId: userOf(3) },
          { limit: 100, ...(cursor === undefined ? {} : { cursor }) },
        );
        cursor = page.nextCursor;
        if (cursor === undefined) return;
      }
    };
    await expect(search()).rejects.toMatchObject({ code: "data_damaged" });
    await store.close();
  });
});
