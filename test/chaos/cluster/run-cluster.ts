import { readFacts } from "../read-facts.ts";
import { type Random, seededRandom, seedOf } from "../seeded-random.ts";
import { until } from "../until.ts";
import { type Finding, judge, type Verdict } from "../verdict.ts";
import { ClusterWorld } from "./cluster-world.ts";
import { type Probes, startProbes } from "./probes.ts";
import type { ClusterTrouble } from "./trouble.ts";

const APPLICATIONS = 3;

export interface ClusterRunOptions {
  readonly troubles: readonly ClusterTrouble[];
  /** How often everything is played. Each time, a new cluster goes through all troubles, in an order of its own. */
  readonly rounds: number;
  readonly seed: number;
  /** Fewer messages, for tests. */
  readonly isShort: boolean;
  /** Called with each world when it is open. */
  readonly onWorld?: (world: ClusterWorld) => void;
  readonly onRound?: (round: ClusterRound) => void;
}

/** One trouble, once. */
export interface ClusterRound {
  readonly trouble: string;
  readonly title: string;
  readonly tracked: number;
  readonly acknowledged: number;
  readonly lost: number;
  readonly repeated: number;
  readonly takeovers: number;
  /** From the fault to the first 200 through a process that was not struck. */
  readonly answeredMs: number;
  /** From the fault to the first delivery of a message that was sent after it. */
  readonly deliveredMs: number;
  readonly findings: readonly Finding[];
}

export interface ClusterResult {
  readonly rounds: readonly ClusterRound[];
  /** Troubles that were left out, with the reason. */
  readonly skipped: readonly string[];
}

/** Puts clusters through all troubles. Stops at the first round with a finding. */
export async function runCluster(options: ClusterRunOptions): Promise<ClusterResult> {
  const rounds: ClusterRound[] = [];
  let skipped: string[] = [];
  for (let pass = 1; pass <= options.rounds; pass++) {
    const world = await ClusterWorld.open(options.isShort);
    options.onWorld?.(world);
    try {
      const lacks = (trouble: ClusterTrouble): string | undefined => trouble.lacks?.(world);
      skipped = options.troubles.flatMap((one) => (lacks(one) ? [`${one.name}: ${lacks(one)}`] : []));
      if (!world.hasAudience) skipped.push("the audience: this cluster refuses audiences");
      const possible = options.troubles.filter((one) => lacks(one) === undefined);
      const random = seededRandom(seedOf(options.seed, "order", pass));
      await playAll(world, shuffled(possible, random), random, (round) => {
        rounds.push(round);
        options.onRound?.(round);
      });
      if (rounds.some(({ findings }) => findings.length > 0)) break;
    } catch (error) {
      const logs = world.members.map(
        ({ node, log }) => `\n${node}'s log ends with:\n${log.slice(-15).join("\n")}`,
      );
      throw new Error(`seed ${options.seed}, pass ${pass}: ${(error as Error).message}${logs.join("")}`, {
        cause: error,
      });
    } finally {
      await world.close();
    }
  }
  return { rounds, skipped };
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const left = [...items];
  return items.map(() => left.splice(random.integer(0, left.length - 1), 1)[0] as T);
}

async function playAll(
  world: ClusterWorld,
  troubles: readonly ClusterTrouble[],
  random: Random,
  onRound: (round: ClusterRound) => void,
): Promise<void> {
  let before: Verdict | undefined;
  for (const [index, trouble] of troubles.entries()) {
    try {
      const played = await playRound(trouble, world, random, index);
      const verdict = judge(world.ledger, await readFacts(world));
      const { name, title } = trouble;
      onRound({
        ...{ trouble: name, title, ...played, findings: verdict.findings },
        tracked: verdict.tracked - (before?.tracked ?? 0),
        acknowledged: verdict.acknowledged - (before?.acknowledged ?? 0),
        lost: verdict.lost - (before?.lost ?? 0),
        repeated: verdict.repeated - (before?.repeated ?? 0),
      });
      before = verdict;
      if (verdict.findings.length > 0) return;
    } catch (error) {
      throw new Error(`${trouble.name}: ${(error as Error).message}`, { cause: error });
    }
  }
}

type Played = Pick<ClusterRound, "takeovers" | "answeredMs" | "deliveredMs">;

/** Load, the fault at a random moment, and load until everything runs and delivers again. */
async function playRound(
  trouble: ClusterTrouble,
  world: ClusterWorld,
  random: Random,
  index: number,
): Promise<Played> {
  const probes = startProbes(`p${index}`, world.members, world.writeKey, world.ledger);
  try {
    return await playUnder(probes, { trouble, world, random });
  } finally {
    // After a failure, they would be sent for ever.
    await probes.stop();
  }
}

interface Round {
  readonly trouble: ClusterTrouble;
  readonly world: ClusterWorld;
  readonly random: Random;
}

async function playUnder(probes: Probes, { trouble, world, random }: Round): Promise<Played> {
  const { ledger, isShort } = world;
  const termBefore = await world.term();
  const sdks = Array.from({ length: APPLICATIONS }, () => world.startSdk());
  let marked: { readonly atMs: number; readonly struck: string | undefined } | undefined;
  const mark = (struck?: string): void => {
    marked = { atMs: performance.now(), struck };
  };
  const enough = ledger.acknowledged.size + random.integer(20, isShort ? 60 : 300);
  await until("messages are acknowledged", () => ledger.acknowledged.size >= enough);
  const startedMs = performance.now();
  await trouble.strike({ world, random, probes, isShort, mark });
  const { atMs, struck } = marked ?? { atMs: startedMs, struck: undefined };

  await world.whole();
  await until("each process takes messages again", () =>
    world.members.every(({ node }) =>
      probes.sent.some(
        (probe) => probe.node === node && (probe.acknowledgedMs ?? 0) >= performance.now() - 2_000,
      ),
    ),
  );
  await until("a message is delivered after the fault", () => deliveredMs() !== undefined);
  await Promise.all([...sdks.map((sdk) => sdk.stop()), probes.stop()]);
  const takeovers = (await world.term()) - termBefore;
  noteTakeovers(world, takeovers, startedMs);
  return {
    takeovers,
    answeredMs: answeredMs() - atMs,
    deliveredMs: (deliveredMs() ?? 0) - atMs,
  };

  function answeredMs(): number {
    const answers = probes.sent.filter((probe) => probe.sentMs >= atMs && probe.node !== struck);
    return Math.min(...answers.map(({ acknowledgedMs = Number.POSITIVE_INFINITY }) => acknowledgedMs));
  }
  function deliveredMs(): number | undefined {
    const sent = new Set(
      probes.sent.filter(({ sentMs }) => sentMs >= atMs).map(({ messageId }) => messageId),
    );
    return ledger.receipts.find(({ messageId, status }) => status === 200 && sent.has(messageId))?.atMs;
  }
}

/** Each takeover explains one repetition of a message: the former owner may have delivered what it could not write down. Nothing else does. */
function noteTakeovers({ ledger }: ClusterWorld, takeovers: number, sinceMs: number): void {
  for (let number = 0; number < takeovers; number++)
    ledger.interruptions.push({ atMs: sinceMs, overMs: performance.now() });
}
