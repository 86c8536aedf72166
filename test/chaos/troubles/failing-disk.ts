import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { SYNCS, tampering } from "../../../packages/event-log/test/crash/strace.ts";
import type { Random } from "../seeded-random.ts";
import { until } from "../until.ts";
import type { World } from "../world.ts";
import type { Scene, Trouble } from "./trouble.ts";

const traceFile = (world: World): string => join(world.folder, "trace");

/** How often strace has tampered with a call since the collector started. */
function tampered(world: World): number {
  if (!existsSync(traceFile(world))) return 0;
  return readFileSync(traceFile(world), "utf8").split("(INJECTED)").length + delayed(world) - 1;
}

function delayed(world: World): number {
  return readFileSync(traceFile(world), "utf8").split("(DELAYED)").length - 1;
}

/** Starts the collector under strace, which lets some of its system calls fail. */
async function startUnder({ world }: Scene, calls: string, how: string): Promise<void> {
  if (world.destinationIds.size > 0) await world.stopCollector();
  rmSync(traceFile(world), { force: true });
  const under = tampering(calls, how).map((word) => (word === "/dev/null" ? traceFile(world) : word));
  await world.startCollector({ under });
}

/** Counted in each thread, from its start. The first ones open the store, which would end the start. */
const firstCall = (random: Random): number => random.integer(40, 120);

const failing = (
  name: string,
  title: string,
  choose: (random: Random, isShort: boolean) => readonly [calls: string, how: string],
): Trouble => ({
  name,
  title,
  stores: ["embedded"],
  needs: ["strace"],
  startRound: (scene) => startUnder(scene, ...choose(scene.random, scene.isShort)),
  async strike({ world, isShort }) {
    await until("a call of the collector was tampered with", () => tampered(world) > 0);
    const before = world.ledger.acknowledged.size;
    await until(
      "messages are stored again",
      () => world.ledger.acknowledged.size > before + (isShort ? 20 : 100),
    );
  },
});

export const failingSyncs = failing("sync-eio", "syncs fail (EIO)", (random, isShort) => {
  const first = firstCall(random);
  return [SYNCS, `error=EIO:when=${first}..${first + random.integer(0, isShort ? 3 : 12)}`];
});

export const failingWrites = failing("write-eio", "writes fail (EIO, ENOSPC)", (random, isShort) => {
  const first = 4 * firstCall(random);
  const error = random.pick(["EIO", "ENOSPC"]);
  return ["pwrite64,pwritev", `error=${error}:when=${first}..${first + random.integer(0, isShort ? 3 : 30)}`];
});

export const slowSyncs = failing("slow-sync", "syncs take 20 ms to 1 s", (random, isShort) => {
  const first = firstCall(random);
  const delayMs = random.integer(20, isShort ? 200 : 1_000);
  return [SYNCS, `delay_enter=${delayMs * 1_000}:when=${first}..${first + (isShort ? 5 : 20)}`];
});
