import { rmSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { manualClock } from "@sluice/resilience/testing";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
// @boundaries-ignore the servers are for tests of all packages
import type { NatsCluster } from "../../../../test/nats/nats-cluster.ts";
import { RECEIVED_AT_MS } from "../batches.js";
import { describeWithNats, natsServers, STORE_NODES } from "../jetstream/nats.js";
import { temporaryDirectories } from "../temporary-directory.js";
import { type Action, history } from "./history.js";
import { jetStreamEngines } from "./jetstream-engines.js";
import { answersOf } from "./play-history.js";
import { inMemory, type OpenOn, replicatedOver, STORES } from "./stores.js";

const temporaryDirectory = temporaryDirectories();

/** Opening a store takes most of the time, so few long histories find more than many short ones. */
const RUNS = Number(process.env.SLUICE_DIFFERENTIAL_RUNS ?? 4);
const SEED = Number(process.env.SLUICE_FUZZ_SEED ?? 1);

async function play(open: OpenOn, actions: Parameters<typeof answersOf>[0]): Promise<unknown[]> {
  const directory = temporaryDirectory();
  const clock = manualClock({ startMs: RECEIVED_AT_MS });
  const opened = await open(directory, clock);
  try {
    return await answersOf(actions, { ...opened, clock });
  } finally {
    await opened.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

describe.each(STORES)("%s gives the answers of the store in memory", (_name, open, share) => {
  it("to any history of calls", { timeout: 0 }, () => expectAgreement(open, share));
});

describeWithNats("replicated over NATS JetStream gives the answers of the store in memory", () => {
  const newServers = natsServers();
  let nats: NatsCluster;
  beforeAll(async () => {
    nats = await newServers({ nodes: STORE_NODES });
  });

  it("to any history of calls", { timeout: 0 }, () =>
    expectAgreement(
      replicatedOver(() => jetStreamEngines(nats)),
      0.25,
    ),
  );
});

async function expectAgreement(open: OpenOn, share: number): Promise<void> {
  for (const actions of fc.sample(history, { seed: SEED, numRuns: Math.ceil(RUNS * share) })) {
    if (await agrees(open, actions)) continue;
    const shortest = await shortened(actions, async (some) => !(await agrees(open, some)));
    const replay = `Replay with SLUICE_FUZZ_SEED=${SEED} SLUICE_DIFFERENTIAL_RUNS=${RUNS}`;
    const shown = shortest.map((action) => JSON.stringify(action)).join("\n");
    expect(await play(open, shortest), `${replay}\n${shown}`).toEqual(await play(inMemory, shortest));
  }
}

async function agrees(open: OpenOn, actions: readonly Action[]): Promise<boolean> {
  return isDeepStrictEqual(plain(await play(open, actions)), plain(await play(inMemory, actions)));
}

/** Without fields that are undefined, as `toEqual` compares. */
function plain(answers: unknown): unknown {
  return JSON.parse(JSON.stringify(answers));
}

/** The shortest history found that still fails. fast-check's own search would open thousands of stores. */
async function shortened(
  actions: readonly Action[],
  fails: (actions: readonly Action[]) => Promise<boolean>,
): Promise<readonly Action[]> {
  let shortest = actions;
  for (let size = Math.ceil(actions.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < shortest.length; ) {
      const candidate = shortest.toSpliced(at, size);
      if (await fails(candidate)) shortest = candidate;
      else at += size;
    }
  }
  return shortest;
}
