import type { Worker } from "node:worker_threads";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { afterEach, expect, it } from "vitest";
import { BEFORE_FIRST } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import type { Store } from "../../src/ports/store.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { idsBatch, RECEIVED_AT_MS } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();
const opened: Store[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

/** A store and its current thread. */
async function open(): Promise<{ store: Store; clock: ManualClock; thread: () => Worker }> {
  let thread: Worker | undefined;
  const note = (worker: Worker): void => {
    thread = worker;
  };
  process.on("worker", note);
  const clock = manualClock({ startMs: RECEIVED_AT_MS });
  const store = await openSqliteStore({ directory: temporaryDirectory(), clock });
  opened.push({
    ...store,
    async close() {
      await store.close();
      process.off("worker", note);
    },
  });
  return {
    store,
    clock,
    thread() {
      if (thread === undefined) throw new Error("no thread was started");
      return thread;
    },
  };
}

async function idsIn(store: Store): Promise<string[]> {
  const batches = await store.log.read(BEFORE_FIRST, { messages: 1e6, bytes: 1 << 30 });
  return batches.flatMap(decodeBatch).map(({ messageId }) => messageId);
}

const DEATHS: readonly (readonly [string, (thread: Worker) => void])[] = [
  ["is terminated", (thread) => void thread.terminate()],
  ["ends with an error that nobody caught", (thread) => thread.postMessage({ kind: "calls", calls: 1 })],
];

it.each(DEATHS)(
  "a store whose thread %s refuses everything at once, then opens the folder anew",
  async (_case, end) => {
    const { store, clock, thread } = await open();
    for (let death = 0; death < 3; death++) {
      const before = `before-${death}`;
      await store.log.append(idsBatch([before]));
      const head = store.log.head();
      const dying = thread();
      const exited = new Promise((resolve) => dying.once("exit", resolve));
      end(dying);
      // Calls made while the thread exits are answered or refused. They never hang.
      const late = Array.from({ length: 20 }, (_, i) => `late-${death}-${i}`);
      const answers = await Promise.allSettled(late.map((id) => store.log.append(idsBatch([id]))));
      for (const answer of answers) {
        if (answer.status === "rejected")
          expect(answer.reason).toMatchObject({ code: "storage_unavailable" });
      }
      await exited;
      expect(store.health()).toMatchObject({ kind: "unavailable", reason: expect.any(String) });
      await expect(store.log.append(idsBatch(["refused"]))).rejects.toMatchObject({
        code: "storage_unavailable",
      });

      while (store.health().kind === "unavailable") {
        await clock.advance(100);
        await new Promise((resolve) => setImmediate(resolve));
      }
      const acknowledged = late.filter((_, i) => answers[i]?.status === "fulfilled");
      const ids = await idsIn(store);
      for (const id of [before, ...acknowledged]) expect(ids).toContain(id);
      expect(ids).not.toContain("refused");
      expect(store.log.head()).toBeGreaterThanOrEqual(head);
      expect(await store.log.append(idsBatch([before]))).toEqual({ duplicates: [0] });
    }
  },
);

it("a store whose thread has died can be closed", async () => {
  const { store, thread } = await open();
  await thread().terminate();
  expect(store.health().kind).toBe("unavailable");
  await store.close();
});
