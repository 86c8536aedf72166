import { BEFORE_FIRST, openSqliteStore } from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";
import { readLive } from "../../src/admin/live/live-reader.js";
import { recentMessages } from "../../src/admin/live/recent-messages.js";
import { liveEvents } from "../../src/process/telemetry/live-events.js";

/**
 * Stores messages, reads them as one reader of the live stream does, and prints how many came: `live-reader-child.ts FOLDER`. Each
 * message is 32 KB of empty objects, twenty times that in memory once it is decoded; together they are 34 MB.
 */
const REQUESTS = 70;
const MESSAGES = 15;
const directory = process.argv[2] ?? "";
const heavy = `[${"{},".repeat(10_500)}{}]`;

const store = await openSqliteStore({ directory, clock: systemClock });
for (let request = 0; request < REQUESTS; request++) {
  const ids = Array.from({ length: MESSAGES }, (_, index) => `m-${request}-${index}`);
  const messages = ids.map(
    (messageId) =>
      `{"type":"track","messageId":"${messageId}","userId":"ann","event":"Heavy","properties":{"heavy":${heavy}}}`,
  );
  await store.log.append({
    sourceId: "src",
    receivedAtMs: 0,
    body: Buffer.from(`{"batch":[${messages.join(",")}]}`),
    itemCount: MESSAGES,
    skipped: [],
    madeIds: [],
    keys: ids.map((messageId, index) => ({ index, messageId, userId: "ann", type: "track", event: "Heavy" })),
  });
}

// Time stands still: nothing is forgotten because it is old.
const clock = { ...systemClock, now: () => 0, sleep: async () => {} };
const end = new AbortController();
let came = 0;
await readLive({
  store,
  recent: recentMessages(store.log, clock),
  live: liveEvents(),
  planOf: () => undefined,
  clock,
  filter: { terms: [] },
  token: { access: "full" },
  resumeFrom: { offset: BEFORE_FIRST, atMs: 0 },
  write: (chunk) => {
    came += chunk.split("\nevent: message\n").length - 1;
    if (came === REQUESTS * MESSAGES) end.abort();
    return true;
  },
  drained: async () => {},
  signal: end.signal,
});
await store.close();
process.stdout.write(`${came}\n`);
