import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "@sluice/resilience";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/offset.js";
import type { Attempt } from "../../src/ports/consumers.js";
import type { Store } from "../../src/ports/store.js";
import { ByteWriter } from "../../src/sqlite/calls/bytes.js";
import { STREAM } from "../../src/sqlite/consumers/chunks.js";
import { DATABASE_FILE } from "../../src/sqlite/database/database-name.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { batchOf } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();
const opened: Store[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

async function open(directory: string): Promise<Store> {
  const store = await openSqliteStore({ directory, clock: systemClock, tuning: { syncLog: false } });
  opened.push(store);
  return store;
}

const HEADERS = {
  "User-Agent": "Sluice/1",
  "Content-Type": "application/json",
  "X-Message-Id": "",
  "X-Team": "checkout",
};

function attemptAt(offset: Offset, more: Partial<Attempt> = {}): Attempt {
  const url = "https://hooks.example/orders";
  return { offset, attempt: 1, atMs: 5, url, latencyMs: 1, status: 200, requestHeaders: HEADERS, ...more };
}

/** The files of the store that contain a text. */
function filesWith(directory: string, text: string): string[] {
  return readdirSync(directory).filter((file) => readFileSync(join(directory, file)).includes(text));
}

/** Runs `run` on the database of a folder that is not open. */
function onDatabase<T>(directory: string, run: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(join(directory, DATABASE_FILE));
  try {
    return run(database);
  } finally {
    database.close();
  }
}

/** Words of texts that all attempts share, or of other users' messages. */
const COMMON = [
  ...[
    "User",
    "Type",
    "json",
    "Content-Type",
    "application/json",
    "Sluice/1",
    "checkout",
    '":"',
    "{",
    "(removed)",
  ],
  ...[
    "HTTP 503",
    "gave up",
    "timeout",
    "hooks.example",
    "https://hooks.example/orders",
    "203.0.113.9",
    "same for all",
  ],
  ...["user-0", "user-1", "user-2", "echo of user-3"],
];

describe("purging a user", () => {
  it("removes all of the user's data and does not change other users' data", async () => {
    const note = fc.array(fc.constantFrom(...COMMON), { minLength: 1, maxLength: 4 });
    // Several users have messages with some of these words. The responses repeat them.
    const users = fc.array(fc.record({ note, isEchoed: fc.boolean() }), { minLength: 4, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(users, async (drawn) => {
        const directory = temporaryDirectory();
        const store = await open(directory);
        const secretOf = (user: number) => `secret-of-${user}-4711`;
        for (let i = 0; i < 3 * drawn.length; i++) {
          const user = i % drawn.length;
          const { note } = drawn[user] ?? { note: [] };
          await store.log.append(
            batchOf([{ messageId: `m${i}`, userId: `user-${user}`, note, secret: secretOf(user) }]),
          );
        }
        for (const consumerId of ["dst_1", "dst_2"]) {
          await store.consumers.open(consumerId, BEFORE_FIRST);
          // Several chunks: a restart begins new ones, and so do attempts that come long after.
          for (let i = 0; i < 3 * drawn.length; i++) {
            const user = i % drawn.length;
            const { note, isEchoed } = drawn[user] ?? { note: [], isEchoed: false };
            const offset = i as Offset;
            const said = isEchoed
              ? `echo of user-${user}: ${note.join(" ")} ${secretOf(user)}`
              : "same for all";
            const attempts = [
              attemptAt(offset, { status: 503, response: said, error: { code: "http_503", message: said } }),
              attemptAt(offset, { attempt: 2, address: "203.0.113.9", response: "same for all" }),
            ];
            const reason = i % 2 === 0 ? "HTTP 503" : "gave up after 4 h: timeout";
            await store.consumers.settle(consumerId, {
              cursor: offset,
              outcomes: [{ offset, state: "failed", reason, atMs: 6 }],
              retries: [],
              attempts,
            });
          }
        }
        const standOf = async (user: number) => {
          const stands: unknown[] = [];
          for (
            let offset = user as Offset;
            offset < 3 * drawn.length;
            offset = (offset + drawn.length) as Offset
          ) {
            stands.push(await store.consumers.outcomesOf(offset), (await store.log.get(offset))?.message);
            for (const id of ["dst_1", "dst_2"]) stands.push(await store.consumers.attemptsOf(id, offset));
          }
          return stands;
        };
        const before = await Promise.all(drawn.map((_, user) => standOf(user)));
        for (const [user] of drawn.entries()) {
          expect(await store.purge({ userId: `user-${user}` })).toEqual({
            messages: 3,
            attempts: 12,
            retries: 0,
          });
          expect(JSON.stringify(await standOf(user))).not.toContain(secretOf(user));
          await store.compact();
          expect(filesWith(directory, secretOf(user))).toEqual([]);
          const others = drawn.map((_, other) => other).slice(user + 1);
          for (const other of others) expect(await standOf(other)).toEqual(before[other]);
          expect(store.health()).toEqual({ kind: "ready" });
        }
      }),
      { numRuns: 6 },
    );
  }, 120_000);
});

/** A folder with three messages of two users, each with an attempt. */
async function made(directory: string): Promise<Attempt[]> {
  const store = await open(directory);
  await store.log.append(
    batchOf([
      { messageId: "m0", userId: "ann" },
      { messageId: "m1", userId: "bob" },
      { messageId: "m2", userId: "ann" },
    ]),
  );
  await store.consumers.open("dst_1", BEFORE_FIRST);
  const attempts = [0, 1, 2].map((offset) => attemptAt(offset as Offset));
  await store.consumers.settle("dst_1", { cursor: 2 as Offset, outcomes: [], retries: [], attempts });
  await store.close();
  return attempts;
}

/** An attempt of a chunk's first message, as an older version wrote it: its response is a number of a shared text. */
function attemptWithAnswer(urlNo: number, answerNo: number): Uint8Array {
  const data = new ByteWriter();
  data.byte(1 << 5); // Only a response.
  for (const number of [2, 1_000, urlNo, answerNo]) data.varint(number);
  data.signed(0);
  data.signed(7);
  return data.view();
}

describe("a folder in which an older version", () => {
  it("overwrote shared request headers works without a repair", async () => {
    const directory = temporaryDirectory();
    const attempts = await made(directory);
    onDatabase(directory, (database) => {
      const { changes } = database
        .prepare("UPDATE strings SET text = '(removed)' WHERE text LIKE '{%'")
        .run();
      expect(changes).toBe(1);
    });
    const store = await open(directory);
    const { requestHeaders: _, ...without } = attempts[1] as Attempt;
    expect(await store.consumers.attemptsOf("dst_1", 1 as Offset)).toEqual([without]);
    expect(await store.purge({ userId: "ann" })).toEqual({ messages: 2, attempts: 2, retries: 0 });
    // New attempts have headers again.
    const later = attemptAt(1 as Offset, { attempt: 2 });
    await store.consumers.settle("dst_1", {
      cursor: 2 as Offset,
      outcomes: [],
      retries: [],
      attempts: [later],
    });
    expect(await store.consumers.attemptsOf("dst_1", 1 as Offset)).toEqual([without, later]);
    expect(store.health()).toEqual({ kind: "ready" });
  });

  it("stored a response that a late attempt refers to keeps it, even if a chunk is damaged", async () => {
    const directory = temporaryDirectory();
    await made(directory);
    const answer = "ann-4711 and bob";
    onDatabase(directory, (database) => {
      const { no: urlNo } = database.prepare("SELECT no FROM strings WHERE text LIKE 'https:%'").get() as {
        no: number;
      };
      database.exec("DELETE FROM chunks");
      database.prepare("INSERT INTO strings (no, text) VALUES (501, ?)").run(answer);
      const put = database.prepare(
        "INSERT INTO chunks (consumer, stream, base, min, max, mask, data) VALUES (1, ?, ?, ?, ?, 1, ?)",
      );
      put.run(STREAM.outcomes, 1, 1, 1, new Uint8Array(9).fill(255));
      put.run(STREAM.attempts, 0, 0, 0, attemptWithAnswer(urlNo, 501));
      database
        .prepare("INSERT INTO late_attempts (consumer, offset, data) VALUES (1, 1, ?)")
        .run(attemptWithAnswer(urlNo, 501));
    });
    const store = await open(directory);
    await store.purge({ userId: "ann" });
    expect(await store.consumers.attemptsOf("dst_1", 1 as Offset)).toMatchObject([{ response: answer }]);
  });

  it("stored responses among the shared texts loses only those of the purged user", async () => {
    const directory = temporaryDirectory();
    await made(directory);
    // Chunks as that version wrote them: the response is a number of a shared text.
    const [alone, shared] = ["ann-4711 alone", "ann-4711 and bob"];
    onDatabase(directory, (database) => {
      const url = database.prepare("SELECT no FROM strings WHERE text LIKE 'https:%'").get() as {
        no: number;
      };
      database.prepare("INSERT INTO strings (no, text) VALUES (501, ?), (502, ?)").run(alone, shared);
      const put = database.prepare(
        `INSERT INTO chunks (consumer, stream, base, min, max, mask, data) VALUES (1, 1, ?, ?, ?, 0, ?)`,
      );
      for (const [offset, answer] of [
        [0, 501],
        [1, 502],
        [2, 502],
      ] as const) {
        put.run(offset, offset, offset, attemptWithAnswer(url.no, answer));
      }
    });
    const store = await open(directory);
    const answersOf = async (offset: number) =>
      (await store.consumers.attemptsOf("dst_1", offset as Offset)).map(({ response }) => response);
    expect(await Promise.all([0, 1, 2].map(answersOf))).toEqual([
      [undefined, alone],
      [undefined, shared],
      [undefined, shared],
    ]);
    await store.purge({ userId: "ann" });
    await store.compact();
    expect(await Promise.all([0, 1, 2].map(answersOf))).toEqual([
      [undefined, undefined],
      [undefined, shared],
      [undefined, undefined],
    ]);
    expect(filesWith(directory, alone)).toEqual([]);
    await store.purge({ userId: "bob" });
    await store.compact();
    expect(filesWith(directory, shared)).toEqual([]);
  });
});
