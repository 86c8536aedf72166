import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@sluice/resilience";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import type { Attempt } from "../../src/ports/consumers.js";
import type { Store } from "../../src/ports/store.js";
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
  });
});
