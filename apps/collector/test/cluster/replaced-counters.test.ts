import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AudienceEngine, type Audiences, startAudiences } from "@sluice/audiences";
import { computedTrait } from "@sluice/audiences/testing";
import {
  type LeadingStores,
  type LogAppend,
  type NewBatch,
  openReplica,
  type Replica,
  type Store,
} from "@sluice/event-log";
import { openMemoryEngines } from "@sluice/event-log/testing";
import { AUDIENCE_SOURCE_ID } from "@sluice/protocol";
import { systemClock } from "@sluice/resilience";
import { afterEach, beforeEach, expect, test } from "vitest";
import { crashMarkerFile } from "../../src/cluster/lead.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

const ROUNDS = Number(process.env.SLUICE_REPLICATED_ROUNDS ?? 6);
const SEED = Number(process.env.SLUICE_FUZZ_SEED ?? 1);
const NODES = ["a", "b", "c"] as const;
const USERS = ["ann", "bob"] as const;
const UNKNOWN: LogAppend = { kind: "unknown", reason: "no answer" };
const SPENT = computedTrait("spent", "sum");

type Node = (typeof NODES)[number];

/** Numbers from 0 to 1, the same for the same seed. */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Processes that count the messages of a log in which appends get lost. */
class World {
  readonly engines = openMemoryEngines();
  readonly random = numbersFrom(SEED);
  /** Appends that are on their way, and arrive when it suits them. */
  readonly #held: (() => void)[] = [];
  readonly #replicas = new Map<string, Replica>();
  readonly #counting: Audiences[] = [];
  #term = 0;
  #sent = 0;
  #folder = "";

  async open(): Promise<void> {
    this.#folder = await mkdtemp(join(tmpdir(), "sluice-counters-"));
    for (const node of NODES) await this.#openReplica(node);
  }

  async #openReplica(node: Node): Promise<void> {
    const directory = join(this.#folder, node);
    await mkdir(directory, { recursive: true });
    const engine = this.engines.engineFor(node);
    this.#replicas.set(node, await openReplica({ directory, engine, clock: systemClock, node }));
  }

  replica(node: Node): Replica {
    return this.#replicas.get(node) as Replica;
  }

  /** A crash, and the next start. */
  async restart(node: Node): Promise<void> {
    await this.replica(node).close();
    await this.#openReplica(node);
  }

  lead(node: Node): Promise<LeadingStores> {
    this.#term += 1;
    // Nobody is told that it was deposed: it goes on as long as it can.
    return this.replica(node).lead(this.#term, { onDeposed() {} });
  }

  /** Counts until the world is closed, or as long as the log lets it. */
  async count(node: Node, { store, profiles }: LeadingStores): Promise<Audiences> {
    const audiences = await startAudiences({
      store,
      engine: new AudienceEngine(profiles, {
        crashMarkers: crashMarkerFile(join(this.#folder, `${node}.json`)),
      }),
      clock: systemClock,
      logger: createLogger({ write: () => {} }),
      metrics: createMetrics(),
      digestKey: new Uint8Array(32),
    });
    this.#counting.push(audiences);
    return audiences;
  }

  async order(store: Store, userId: string): Promise<void> {
    this.#sent += 1;
    await store.log.append(orderOf(userId, `m${this.#sent}`, "src"));
  }

  loseSome(): void {
    for (const node of NODES)
      this.engines.faultsOf(node).append = async (now) => {
        const fate = this.random();
        if (fate < 0.05) return UNKNOWN;
        if (fate < 0.15) {
          this.#held.push(now);
          return UNKNOWN;
        }
        if (fate < 0.25)
          await new Promise<void>((resolve) => {
            this.#held.push(resolve);
          });
        const answer = now();
        return fate < 0.3 ? UNKNOWN : answer;
      };
  }

  loseNothing(): void {
    for (const node of NODES) this.engines.faultsOf(node).append = async (now) => now();
  }

  releaseSome(share: number): void {
    for (const release of this.#held.splice(0, Math.ceil(this.#held.length * share))) release();
  }

  async close(): Promise<void> {
    this.loseNothing();
    this.releaseSome(1);
    await Promise.all([...this.#replicas.values()].map((replica) => replica.close()));
    await Promise.allSettled(this.#counting.map((audiences) => audiences.close()));
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function orderOf(userId: string, messageId: string, sourceId: string): NewBatch {
  const message = { type: "track", event: "Order", userId, messageId, properties: { price: 1 } };
  return {
    sourceId,
    receivedAtMs: systemClock.now(),
    body: Buffer.from(JSON.stringify({ batch: [message] })),
    itemCount: 1,
    skipped: [],
    madeIds: [],
    keys: [{ index: 0, messageId, userId, type: "track", event: "Order" }],
  };
}

/** The user's messages of a source in a log, oldest first. */
async function messagesOf({ log }: Pick<Store, "log">, sourceId: string, userId: string) {
  const { items } = await log.find({ sourceId, userId }, { limit: 1_000 });
  return items.toReversed().map(({ message }) => message);
}

let world: World;

beforeEach(async () => {
  world = new World();
  await world.open();
});
afterEach(() => world.close());

test(`each message counts once, over ${ROUNDS} owners that do not know of each other`, async () => {
  const { random } = world;
  const first = await world.lead("a");
  await first.store.config.put("computed_trait", SPENT.id, SPENT.document);
  for (const userId of USERS) await world.order(first.store, userId);
  world.loseSome();
  const releasing = setInterval(() => world.releaseSome(random()), 20);
  const sent: Promise<unknown>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const node = NODES[Math.floor(random() * NODES.length)] ?? "a";
    if (world.replica(node).status().role === "leading") await world.restart(node);
    const stores = await world.lead(node).catch(() => undefined);
    if (stores === undefined) continue;
    // One that is replaced before it has begun does not begin.
    const began = world.count(node, stores).catch(() => {});
    if (random() < 0.8) await began;
    const before = sent.length;
    for (let i = 0; i < 8; i++) {
      const userId = random() < 0.5 ? "ann" : "bob";
      sent.push(world.order(stores.store, userId).catch(() => {}));
      if (random() < 0.5) await new Promise((resolve) => setImmediate(resolve));
    }
    if (random() < 0.6) await Promise.all(sent.slice(before));
  }
  clearInterval(releasing);
  world.loseNothing();
  // An owner that has nothing to say does not notice that it was replaced.
  for (const node of NODES) await world.restart(node);
  const stores = await world.lead("b");
  world.releaseSome(1);
  await Promise.all(sent);
  const audiences = await world.count("b", stores);
  await audiences.counted();
  for (const userId of USERS) {
    const stored = await messagesOf(stores.store, "src", userId);
    expect(await audiences.profile(userId)).toMatchObject({ computedTraits: { spent: stored.length } });
    let told: readonly number[] = [];
    const lastTold = async (): Promise<number | undefined> => {
      told = (await messagesOf(stores.store, AUDIENCE_SOURCE_ID, userId)).map(
        ({ traits }) => (traits as { readonly spent: number }).spent,
      );
      return told.at(-1);
    };
    // What is counted is told a little later.
    await expect.poll(lastTold).toBe(stored.length);
    // Each value once, in order.
    expect(told).toEqual([...new Set(told)].sort((one, next) => one - next));
  }
});
