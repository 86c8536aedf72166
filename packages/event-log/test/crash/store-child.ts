/**
 * A process that a test crashes. It appends messages and settles them as fast as it can, and reports the store's answers on standard
 * output. It writes each line at once, so that the test knows what was acknowledged before the crash:
 *
 *   opened PID        a ID…             acknowledged
 *   failed REASON     r ID…             refused: the store was unavailable
 *   c OFFSET          settled up to there
 */
import { writeSync } from "node:fs";
import { systemClock } from "@sluice/resilience";
import { BEFORE_FIRST, type Offset, offsetAt } from "../../src/message/batch.js";
import type { Outcome, Retry } from "../../src/ports/consumers.js";
import type { StoreTuning } from "../../src/sqlite/calls/tuning.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { idsBatch } from "../batches.js";

export interface ChildOptions {
  readonly directory: string;
  /** Begins each message's id. */
  readonly run: string;
  readonly tuning?: Partial<StoreTuning>;
  /** How many appends wait at once. Default: 4. */
  readonly inFlight?: number;
  /** Ends by itself, closing the store, after so many appends. Default: never. */
  readonly appends?: number;
}

const options = JSON.parse(process.argv[2] ?? "{}") as ChildOptions;
/** Returns when the line is in the pipe, which may be full while the reader is busy. */
function say(line: string): void {
  let rest = Buffer.from(`${line}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
  }
}

const store = await openSqliteStore({
  directory: options.directory,
  clock: systemClock,
  tuning: { segmentMessages: 512, checkpointBytes: 256 * 1024, ...options.tuning },
}).catch((error: Error) => {
  say(`failed ${error.message}`);
  process.exit(3);
});
say(`opened ${process.pid}`);

let appends = 0;
let next = 0;
const isOver = (): boolean => appends >= (options.appends ?? Number.POSITIVE_INFINITY);

async function append(): Promise<void> {
  while (!isOver()) {
    appends += 1;
    const ids = Array.from({ length: 1 + (appends % 7) }, () => `${options.run}-${next++}`);
    try {
      await store.log.append(idsBatch(ids, { receivedAtMs: Date.now() }));
      say(`a ${ids.join(" ")}`);
    } catch {
      say(`r ${ids.join(" ")}`);
      await systemClock.sleep(20);
    }
  }
}

/** Delivers four of five messages; the fifth is to be tried again. */
async function settle(): Promise<void> {
  let { cursor } = await store.consumers.open("dst_1", BEFORE_FIRST);
  while (!isOver()) {
    try {
      const batches = await store.log.read(cursor, { messages: 50, bytes: 1 << 20 });
      const outcomes: Outcome[] = [];
      const retries: Retry[] = [];
      let last: Offset = cursor;
      for (const batch of batches) {
        for (let index = 0; index < batch.itemCount; index++) {
          const offset = offsetAt(batch.first, index);
          if (offset <= cursor) continue;
          last = offset;
          if (offset % 5 === 4) {
            retries.push({
              offset,
              rounds: 1,
              firstAttemptAtMs: 1,
              dueAtMs: 2,
              reason: "503",
              doneUrls: [],
              replay: false,
            });
          } else outcomes.push({ offset, state: "delivered", reason: "200", atMs: Date.now() });
        }
      }
      if (last === cursor) await systemClock.sleep(2);
      else {
        await store.consumers.settle("dst_1", { cursor: last, outcomes, retries, attempts: [] });
        cursor = last;
        say(`c ${cursor}`);
      }
    } catch {
      await systemClock.sleep(20);
    }
  }
}

await Promise.all([settle(), ...Array.from({ length: options.inFlight ?? 4 }, append)]);
await store.close();
say("closed");
