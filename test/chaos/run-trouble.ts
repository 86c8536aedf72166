import type { StoreKind } from "./processes/collector-process.ts";
import type { SdkProcess } from "./processes/sdk-process.ts";
import { readFacts } from "./read-facts.ts";
import { type Random, seededRandom, seedOf } from "./seeded-random.ts";
import type { Scene, Trouble } from "./troubles/trouble.ts";
import { pause, until } from "./until.ts";
import { judge, type Verdict } from "./verdict.ts";
import { World } from "./world.ts";

const APPLICATIONS = 2;

export interface RunOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Fewer messages and shorter faults, for tests. */
  readonly isShort: boolean;
  /** Called with the world when it is open. */
  readonly onWorld?: (world: World) => void;
}

export interface TroubleResult {
  readonly trouble: string;
  readonly title: string;
  readonly store: StoreKind;
  readonly rounds: number;
  readonly verdict: Verdict;
  /** Per round: from the end of the fault to the next delivery. */
  readonly recoveryMs: readonly number[];
}

/** Puts one world through a trouble, again and again. Stops at the first round with a finding. */
export async function runTrouble(
  trouble: Trouble,
  store: StoreKind,
  { rounds, seed, isShort, onWorld = () => {} }: RunOptions,
): Promise<TroubleResult> {
  const world = await World.open(store, isShort);
  onWorld(world);
  try {
    trouble.prepareWorld?.(world);
    const recoveryMs: number[] = [];
    let verdict: Verdict | undefined;
    let round = 0;
    while (round < rounds && (verdict?.findings.length ?? 0) === 0) {
      round += 1;
      const random = seededRandom(seedOf(seed, trouble.name, store, round));
      recoveryMs.push(await playRound(trouble, world, random));
      verdict = judge(world.ledger, await readFacts(world));
    }
    if (verdict === undefined) throw new RangeError("There must be at least one round");
    const { name, title } = trouble;
    return { trouble: name, title, store, rounds: round, verdict, recoveryMs };
  } catch (error) {
    const log = world.isRunning ? `\nThe collector's log ends with:\n${world.collector.log()}` : "";
    throw new Error(`${trouble.name}, ${store} store, seed ${seed}: ${(error as Error).message}${log}`, {
      cause: error,
    });
  } finally {
    await world.close();
  }
}

/** Load, the fault at a random moment, more load, and calm. Resolves with the time that the recovery took. */
async function playRound(trouble: Trouble, world: World, random: Random): Promise<number> {
  const { ledger } = world;
  const sdks: SdkProcess[] = [];
  const { isShort } = world;
  const scene: Scene = { world, random, sdks, isShort };
  await trouble.startRound?.(scene);
  if (!world.isRunning) await world.startCollector();
  for (let index = 0; index < APPLICATIONS; index++)
    sdks.push(trouble.startSdk?.(world, index) ?? world.startSdk());

  const enough = ledger.acknowledged.size + random.integer(1, isShort ? 60 : 500);
  await until("messages are acknowledged", () => ledger.acknowledged.size >= enough);
  await pause(random.integer(0, 20));
  await trouble.strike(scene);

  const overMs = performance.now();
  const before = ledger.receipts.length;
  await until("a message is delivered after the fault", () => ledger.receipts.length > before);
  const recoveryMs = performance.now() - overMs;
  const more = ledger.acknowledged.size + (isShort ? 10 : 100);
  await until("messages are acknowledged after the fault", () => ledger.acknowledged.size >= more);
  await Promise.all(sdks.map((sdk) => sdk.stop()));
  return recoveryMs;
}
