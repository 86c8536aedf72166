import { systemClock } from "@sluice/resilience";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { openMemoryStore } from "../../src/memory/open-memory-store.js";
import { BEFORE_FIRST } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import type { LogAppend } from "../../src/replicated/engine.js";
import type { LeadingStores, Replica } from "../../src/replicated/replica.js";
import { idsBatch, RECEIVED_AT_MS } from "../batches.js";
import { history } from "../differential/history.js";
import { answersOf, everything } from "../differential/play-history.js";
import { openMemoryEngines } from "../memory-engine/open-memory-engines.js";
import { FOREVER, type TestCluster, testClusters } from "./cluster.js";
import { contentsOf } from "./copy-contents.js";

const RUNS = Number(process.env.SLUICE_REPLICATED_RUNS ?? 1);
const ROUNDS = Number(process.env.SLUICE_REPLICATED_ROUNDS ?? 6);
const SEED = Number(process.env.SLUICE_FUZZ_SEED ?? 1);
const UNKNOWN: LogAppend = { kind: "unknown", reason: "no answer" };
const TUNING = { segmentMessages: 4, checkpointBytes: 32 * 1_024 };

/** Times of the store by hand. Waiting for the engine takes real time. */
function halfManual(): ManualClock {
  const clock = manualClock({ startMs: RECEIVED_AT_MS });
  return { ...clock, sleep: systemClock.sleep };
}

const newCluster = testClusters();

/** Numbers from 0 to 1, the same for the same seed. */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Makes some appends of a node get lost, and some of their answers. */
function loseSome(cluster: TestCluster, node: string, random: () => number): void {
  cluster.engines.faultsOf(node).append = async (now) => {
    const fate = random();
    if (fate < 0.05) return UNKNOWN;
    const answer = now();
    return fate < 0.1 ? UNKNOWN : answer;
  };
}

it("answers as a single store does, with an owner after the other, and all copies are equal", async () => {
  for (const [run, actions] of fc.sample(history, { numRuns: RUNS, seed: SEED }).entries()) {
    const clock = halfManual();
    const cluster = newCluster(openMemoryEngines({ maxEntryBytes: 2_000 }));
    const random = numbersFrom(SEED + run);
    const nodes = ["a", "b", "c"];
    for (const node of nodes) loseSome(cluster, node, random);
    const open = (node: string): Promise<Replica> => cluster.open(node, { clock, tuning: TUNING });
    const replicas = await Promise.all([open("a"), open("b")]);
    let term = 0;
    let leading: LeadingStores | undefined;
    const next = async (replica = replicas[term % 2] as Replica): Promise<LeadingStores> => {
      await leading?.stepDown();
      term += 1;
      leading = await replica.lead(term, { onDeposed() {} });
      return leading;
    };
    const answers = await answersOf(actions, {
      store: (await next()).store,
      clock,
      reopen: async () => (await next()).store,
    });

    const plain = manualClock({ startMs: RECEIVED_AT_MS });
    const alone = openMemoryStore({ clock: plain });
    const expected = await answersOf(actions, { store: alone, clock: plain, reopen: async () => alone });
    expect(answers).toEqual(expected);

    // A third process gets everything from a snapshot.
    await (replicas[0] as Replica).snapshot();
    cluster.engines.log.trim((replicas[0] as Replica).status().applied);
    replicas.push(await open("c"));
    const seen = [];
    for (const replica of replicas) {
      await replica.caughtUp(FOREVER);
      seen.push(await everything((await next(replica)).store));
    }
    await leading?.stepDown();
    for (const other of seen) expect(other).toEqual(seen[0]);
    for (const replica of replicas) await cluster.close(replica);
  }
});

it(`keeps every acknowledged message once, over ${ROUNDS} changes of owners that do not know of each other`, async () => {
  const random = numbersFrom(SEED);
  const cluster = newCluster();
  const nodes = ["a", "b", "c"];
  /** Appends that are on their way, and arrive when it suits them. */
  const held: (() => void)[] = [];
  for (const node of nodes) {
    cluster.engines.faultsOf(node).append = async (now) => {
      const fate = random();
      if (fate < 0.05) return UNKNOWN;
      if (fate < 0.15) {
        held.push(now);
        return UNKNOWN;
      }
      if (fate < 0.25)
        await new Promise<void>((resolve) => {
          held.push(resolve);
        });
      const answer = now();
      return fate < 0.3 ? UNKNOWN : answer;
    };
  }
  const releaseSome = (share: number): void => {
    for (const release of held.splice(0, Math.ceil(held.length * share))) release();
  };
  const releasing = setInterval(() => releaseSome(random()), 20);
  const replicas = new Map<string, Replica>();
  for (const node of nodes) replicas.set(node, await cluster.open(node));
  const acknowledged = new Set<string>();
  const sent: Promise<unknown>[] = [];
  const leaders = new Map<string, LeadingStores>();
  let round = 0;
  // On a machine that stands still, more changes are needed until enough was acknowledged.
  while (round < ROUNDS || (acknowledged.size <= ROUNDS && round < 10 * ROUNDS)) {
    round += 1;
    const node = nodes[Math.floor(random() * nodes.length)] ?? "a";
    let replica = replicas.get(node) as Replica;
    if (replica.status().role === "leading" || random() < 0.1) {
      // In order, as far as another one has not replaced it, or as a crash.
      if (random() < 0.3) await leaders.get(node)?.stepDown();
      await cluster.close(replica);
      replica = await cluster.open(node);
      replicas.set(node, replica);
    }
    const stores = await replica.lead(round, { onDeposed() {} }).catch(() => undefined);
    if (stores === undefined) continue;
    leaders.set(node, stores);
    for (let i = 0; i < 6; i++) {
      const id = `${round}.${i}`;
      const append = stores.store.log.append(idsBatch([id]));
      sent.push(append.then(() => acknowledged.add(id)).catch(() => {}));
      if (random() < 0.5) await new Promise((resolve) => setImmediate(resolve));
    }
  }
  clearInterval(releasing);
  for (const node of nodes) cluster.engines.faultsOf(node).append = async (now) => now();
  // An owner that has nothing to say does not notice that it was replaced.
  for (const replica of replicas.values()) await cluster.close(replica);
  const last = await cluster.open("a");
  const { store, stepDown } = await last.lead(round + 1, { onDeposed() {} });
  while (held.length > 0) releaseSome(1);
  await Promise.all(sent);
  const batches = await store.log.read(BEFORE_FIRST, { messages: 100_000, bytes: 1e9 });
  const stored = batches.flatMap((batch) => decodeBatch(batch)).map(({ messageId }) => messageId);
  expect(new Set(stored).size).toBe(stored.length);
  expect([...acknowledged].filter((id) => !stored.includes(id))).toEqual([]);
  expect(acknowledged.size).toBeGreaterThan(ROUNDS);
  await stepDown();
  await cluster.close(last);
  for (const node of nodes) {
    const replica = await cluster.open(node);
    await replica.caughtUp(FOREVER);
    await cluster.close(replica);
  }
  const [first, ...others] = nodes.map((node) => contentsOf(cluster.folderOf(node)));
  for (const other of others) expect(other).toEqual(first);
});
