import { systemClock } from "@sluice/resilience";
import { expect, it } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { idsBatch } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";
import { zeroPages } from "./zero-pages.js";

const temporaryDirectory = temporaryDirectories();

it("a refused purge does not change the message's later retries", async () => {
  const directory = temporaryDirectory();
  const store = await openSqliteStore({ directory, clock: systemClock });
  await store.log.append(idsBatch(["a"]));
  const offset = 0 as Offset;
  await store.consumers.open("dst", BEFORE_FIRST);
  for (let first = 0; first < 200; first += 10)
    await store.consumers.settle("dst", {
      cursor: offset,
      outcomes: [],
      retries: [],
      attempts: Array.from({ length: 10 }, (_, i) => ({
        offset,
        attempt: first + i + 1,
        atMs: 1,
        url: "https://example.com/",
        latencyMs: 1,
        response: `${first + i} `.repeat(100),
      })),
    });
  await store.close();
  zeroPages(directory, "chunks");

  const damaged = await openSqliteStore({ directory, clock: systemClock });
  await damaged.consumers.open("dst", BEFORE_FIRST);
  const [message] = (await damaged.log.find({}, { limit: 1 })).items;
  const { sourceId = "", messageId = "" } = message ?? {};
  await expect(damaged.purge({ sourceId, messageId })).rejects.toThrow("sluice repair");
  const retry = {
    offset,
    rounds: 1,
    firstAttemptAtMs: 1,
    dueAtMs: 2,
    reason: "http_500",
    doneUrls: [],
    replay: true,
  };
  await damaged.consumers.settle("dst", { cursor: offset, outcomes: [], retries: [retry], attempts: [] });
  expect(await damaged.consumers.backlog("dst")).toMatchObject({ retries: 1 });
  await damaged.close();
});
