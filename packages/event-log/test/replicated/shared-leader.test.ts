import { MessageChannel } from "node:worker_threads";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { afterEach, expect, it } from "vitest";
import { BEFORE_FIRST } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import { openReplica } from "../../src/replicated/open-replica.js";
import { joinStore } from "../../src/sqlite/sharing/join-store.js";
import { idsBatch } from "../batches.js";
import { openMemoryEngines } from "../memory-engine/open-memory-engines.js";
import { holdingChanges, untilHandedBack } from "../shared-ports.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();
const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function lead(clock: ManualClock) {
  const engine = openMemoryEngines().engineFor("a");
  const replica = await openReplica({ directory: temporaryDirectory(), engine, clock, node: "a" });
  ends.push(() => replica.close());
  const { store, stepDown } = await replica.lead(1, { onDeposed() {} });
  ends.push(stepDown);
  return { store, stepDown };
}

/** Another thread's use of the leading store, through the thread that has it. */
async function join() {
  const clock = manualClock();
  const { store, stepDown } = await lead(clock);
  const { port1, port2 } = new MessageChannel();
  const stopSharing = store.share?.(port1);
  ends.push(() => stopSharing?.());
  const changes = holdingChanges(port2);
  return { store, stepDown, joined: await joinStore(changes.port, clock), release: changes.release };
}

it("hands back what another thread admitted by a source that has changed since", async () => {
  const { store, joined, release } = await join();
  const put = store.config.put("source", "src_1", { name: "A" });
  await untilHandedBack(joined);
  const head = store.log.head();
  release();
  await put;
  expect(store.log.head()).toBe(head);
  expect(await joined.log.append(idsBatch(["late"]))).toEqual({ duplicates: [], first: head + 1 });
});

it("tells another thread that reads at the end what was appended, with sources that it did not know", async () => {
  const { store, joined } = await join();
  const limits = { messages: 10, bytes: 10_000 };
  expect(await joined.log.read(BEFORE_FIRST, limits)).toEqual([]);
  const told = new Promise<Awaited<ReturnType<typeof joined.log.read>>>((resolve) => {
    joined.log.onAppend(() => resolve(joined.log.read(BEFORE_FIRST, limits)));
  });
  await store.log.append({ ...idsBatch(["a"]), sourceId: "src_later" });
  const batches = await told;
  expect(batches.map(({ sourceId }) => sourceId)).toEqual(["src_later"]);
  expect(batches.flatMap(decodeBatch).map(({ messageId }) => messageId)).toEqual(["a"]);
});

it("refuses the calls of another thread when this process does not lead any more", async () => {
  const { stepDown, joined } = await join();
  await stepDown();
  await expect(joined.log.append(idsBatch(["a"]))).rejects.toMatchObject({ code: "storage_unavailable" });
});
