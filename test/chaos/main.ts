/**
 * Puts a built collector under load through one trouble after another: `npm run chaos -- --rounds 20 --only power-cut --seed 7`.
 * Exits with 1 if a promise was broken. `--write` puts the tables into docs/contributing/chaos.md.
 */
import { parseArgs } from "node:util";
import { findNatsServer } from "../nats/nats-server.ts";
import { clusterTable } from "./cluster/cluster-table.ts";
import { type ClusterRound, runCluster } from "./cluster/run-cluster.ts";
import { CLUSTER_TROUBLES } from "./cluster/troubles/catalog.ts";
import { missing } from "./disk/may.ts";
import { type Tables, writePage } from "./results-page.ts";
import { tableOf } from "./results-table.ts";
import { runTrouble, type TroubleResult } from "./run-trouble.ts";
import { TROUBLES } from "./troubles/catalog.ts";

const STORES: readonly string[] = ["embedded", "memory", "replicated"];
const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    only: { type: "string" },
    store: { type: "string" },
    seed: { type: "string" },
    json: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    short: { type: "boolean", default: false },
  },
});
const names = values.only?.split(",");
const known = [...TROUBLES, ...CLUSTER_TROUBLES].map(({ name }) => name);
const unknown = names?.filter((name) => !known.includes(name)) ?? [];
const rounds = Number(values.rounds);
const seed = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed);
if (unknown.length > 0 || !Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(seed)) {
  console.error(`chaos: --rounds and --seed are integers, and --only is one of ${known.join(", ")}`);
  process.exit(2);
}
if (!STORES.includes(values.store ?? "embedded")) {
  console.error(`chaos: --store is ${values.store}; it must be one of ${STORES.join(", ")}`);
  process.exit(2);
}
if (values.write && names !== undefined) {
  console.error("chaos: --write replaces whole tables, so it needs all troubles: leave out --only");
  process.exit(2);
}

const results: TroubleResult[] = [];
const clusterRounds: ClusterRound[] = [];
const skipped: string[] = [];
const skippedOfCluster: string[] = [];

/** Its processes and mounts must not outlive this process. What was played until then counts. */
let world: { close(): Promise<void> } | undefined;
let isCutShort = false;
let isBroken = false;
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    isCutShort = true;
    void finish()
      .then(() => world?.close())
      .finally(() => process.exit(130));
  });

console.error(`seed ${seed}, ${rounds} rounds of each`);
for (const trouble of TROUBLES) {
  const stores = trouble.stores.filter((store) => values.store === undefined || values.store === store);
  if (stores.length === 0 || (names !== undefined && !names.includes(trouble.name))) continue;
  const lacks = trouble.needs.map(missing).find((lack) => lack !== undefined);
  if (lacks !== undefined) {
    skipped.push(`${trouble.name}: ${lacks.reason}`);
    continue;
  }
  for (const store of stores) {
    if (isCutShort) break;
    const startedMs = performance.now();
    try {
      const result = await runTrouble(trouble, store, {
        ...{ rounds, seed, isShort: values.short },
        onWorld(opened) {
          world = opened;
        },
      });
      results.push(result);
      const { findings, tracked, acknowledged, lost } = result.verdict;
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
      console.error(
        `${trouble.name} (${store}): ${result.rounds} rounds, ${tracked} tracked, ${acknowledged} acknowledged, ${lost} lost, ${seconds} s`,
      );
      for (const { check, count, examples } of findings)
        console.error(`  ${check}: ${count}, such as ${examples.join("; ")}`);
      isBroken ||= findings.length > 0;
    } catch (error) {
      fail(error);
    }
  }
}
const clusterTroubles = CLUSTER_TROUBLES.filter(({ name }) => names === undefined || names.includes(name));
const wantsCluster = values.store === undefined || values.store === "replicated";
if (!isCutShort && wantsCluster && clusterTroubles.length > 0) {
  const server = findNatsServer();
  if (server.kind === "missing") skippedOfCluster.push(`the replicated store: ${server.reason}`);
  else await playCluster();
}

async function playCluster(): Promise<void> {
  try {
    const played = await runCluster({
      ...{ troubles: clusterTroubles, rounds, seed, isShort: values.short },
      onWorld(opened) {
        world = opened;
      },
      onRound(round) {
        clusterRounds.push(round);
        const { trouble, acknowledged, lost, repeated, takeovers, answeredMs, deliveredMs } = round;
        console.error(
          `${trouble} (replicated): ${acknowledged} acknowledged, ${lost} lost, ${repeated} repeated, ${takeovers} takeovers, first 200 after ${Math.round(answeredMs)} ms, first delivery after ${Math.round(deliveredMs)} ms`,
        );
        for (const { check, count, examples } of round.findings)
          console.error(`  ${check}: ${count}, such as ${examples.join("; ")}`);
        isBroken ||= round.findings.length > 0;
      },
    });
    skippedOfCluster.push(...played.skipped);
  } catch (error) {
    fail(error);
  }
}

/** What breaks because everything is being closed says nothing. */
function fail(error: unknown): void {
  if (isCutShort) return;
  isBroken = true;
  console.error((error as Error).message);
}

if (!isCutShort) {
  await finish();
  const isEmpty = results.length + clusterRounds.length === 0;
  if (isEmpty) console.error("chaos: nothing was played");
  process.exitCode = isBroken || isEmpty ? 1 : 0;
}

/** Prints what was played, and puts it into the page if every promise held. */
async function finish(): Promise<void> {
  print();
  if (isBroken) console.error(`A promise was broken. Repeat it with --seed ${seed}.`);
  else if (values.write)
    await writePage(tables(), {
      ...{ seed, rounds, isShort: values.short, store: values.store, isCutShort },
    });
}

function tables(): Tables {
  return {
    table: { table: results.length > 0 ? tableOf(results) : undefined, skipped },
    "cluster table": {
      table: clusterRounds.length > 0 ? clusterTable(clusterRounds, CLUSTER_TROUBLES) : undefined,
      skipped: skippedOfCluster,
    },
  };
}

function print(): void {
  const all = [...skipped, ...skippedOfCluster];
  for (const line of all) console.error(`skipped ${line}`);
  if (values.json) console.log(JSON.stringify({ seed, results, clusterRounds, skipped: all }, undefined, 2));
  else for (const { table } of Object.values(tables())) if (table !== undefined) console.log(table);
}
