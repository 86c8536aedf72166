import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@sluice/resilience";
import { expect, it } from "vitest";
import { BEFORE_FIRST } from "../../src/message/batch.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { batchOf } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();

const PERSON = "ann-4711";
const ADDRESS = "2001:db8:4711::99";
const SECRET = "Annes geheimes Konto";

/** The files of the store that contain a text. */
function filesWith(directory: string, text: string): string[] {
  return readdirSync(directory).filter((file) => readFileSync(join(directory, file)).includes(text));
}

it.each([
  ["while the segment is open", { segmentMessages: 131_072 }],
  ["in sealed segments", { segmentMessages: 16 }],
])("leaves no byte of a purged user in the folder, %s", async (_case, tuning) => {
  const directory = temporaryDirectory();
  const store = await openSqliteStore({
    directory,
    clock: systemClock,
    tuning: { checkpointBytes: 64 * 1024, ...tuning },
  });
  try {
    const message = (i: number) => ({
      messageId: `m${i}`,
      userId: i % 3 === 0 ? PERSON : `other-${i}`,
      properties: { note: i % 3 === 0 ? SECRET : "nothing", filler: "x".repeat((i * 37) % 3000) },
    });
    for (let i = 0; i < 120; i += 4) {
      const single = message(1_000 + i);
      await store.log.append(batchOf([0, 1, 2, 3].map((k) => message(i + k))));
      await store.log.append({
        ...batchOf([single]),
        body: Buffer.from(JSON.stringify({ type: "track", event: "Ordered", ...single })),
        kind: "track",
      });
    }
    // A batch with other users' messages: a duplicate, a refused one, and the sender's IP address.
    const others = [message(0), { ...message(500), userId: "other" }, { ...message(600), note: SECRET }];
    await store.log.append({
      ...batchOf(others),
      keys: batchOf(others).keys.slice(0, 2),
      skipped: [2],
    });
    const sentAlong = [message(2_001), { ...message(2_000), userId: PERSON }];
    await store.log.append({ ...batchOf(sentAlong), ip: ADDRESS });
    await store.consumers.open("dst_1", BEFORE_FIRST);
    const all = (await store.log.find({}, { limit: 1_000 })).items;
    await store.consumers.settle("dst_1", {
      cursor: store.log.head(),
      outcomes: all.map(({ offset }) => ({ offset, state: "delivered", reason: "200", atMs: 1 })),
      retries: [],
      attempts: all.map(({ offset, message: { userId } }) => ({
        offset,
        attempt: 1,
        atMs: 2,
        url: "https://example.com/",
        latencyMs: 3,
        responseHeaders: { shown: { "x-user": `${userId}` }, leftOut: 0 },
        response: offset % 2 === 0 ? `hello ${userId}` : `hello ${userId}, you are number ${offset}`,
      })),
    });
    store.rejections.add([
      { sourceId: "src_1", receivedAtMs: 1, issues: [], excerpt: `{"userId":"${PERSON}","type":"none"}` },
    ]);
    await store.config.put("note", "n1", { about: PERSON });
    await store.config.delete("note", "n1");
    expect(filesWith(directory, SECRET)).not.toEqual([]);
    expect(filesWith(directory, ADDRESS)).not.toEqual([]);

    const { messages } = await store.purge({ userId: PERSON });
    expect(messages).toBeGreaterThan(40);
    // A request that was in flight during the purge is settled afterwards.
    const late = all.find((item) => item.message.userId === PERSON)?.offset ?? BEFORE_FIRST;
    await store.consumers.settle("dst_1", {
      cursor: store.log.head(),
      outcomes: [],
      retries: [
        {
          offset: late,
          rounds: 1,
          firstAttemptAtMs: 1,
          dueAtMs: 2,
          reason: `no ${PERSON} here`,
          doneUrls: [],
          replay: false,
        },
      ],
      attempts: [
        {
          offset: late,
          attempt: 2,
          atMs: 3,
          url: "https://example.com/",
          latencyMs: 4,
          response: PERSON,
          responseHeaders: { shown: { "x-user": PERSON }, leftOut: 0 },
        },
      ],
    });
    expect(await store.consumers.backlog("dst_1")).toEqual({ behind: 0, retries: 0 });
    await store.compact();
    expect(filesWith(directory, SECRET)).toEqual([]);
    expect(filesWith(directory, PERSON)).toEqual([]);
    expect(filesWith(directory, ADDRESS)).toEqual([]);
    const { items } = await store.log.find({}, { limit: 1_000 });
    expect(items).toHaveLength(153 - messages);
  } finally {
    await store.close();
  }
  expect(filesWith(directory, PERSON)).toEqual([]);
});
