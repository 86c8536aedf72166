import { expect, it } from "vitest";
import { temporaryDirectories } from "../temporary-directory.js";
import { examine, Ledger, SOUND, startChild } from "./ledger.js";
import { hasStrace, SYNCS, tampering } from "./strace.js";

const temporaryDirectory = temporaryDirectories();

/** Crashes in a run of the suite; `SLUICE_CRASHES=300` for a long one. */
const CRASHES = Number(process.env.SLUICE_CRASHES ?? 8);

/** A few kills in the test's time, at places that no two runs share. */
async function killAfterAcknowledged(child: ReturnType<typeof startChild>, count: number): Promise<void> {
  const before = child.ledger.acknowledged.size;
  await child.said(() => child.ledger.acknowledged.size >= before + count);
  child.kill("SIGKILL");
  await child.ended;
}

it(`loses nothing that was acknowledged, and stores nothing twice, over ${CRASHES} kills at random moments`, {
  timeout: 120_000 + CRASHES * 30_000,
}, async () => {
  const directory = temporaryDirectory();
  const ledger = new Ledger();
  for (let crash = 0; crash < CRASHES; crash++) {
    const child = startChild({ directory, run: `k${crash}` }, ledger);
    await killAfterAcknowledged(child, 1 + Math.floor(Math.random() * 1500));
    expect(await examine(directory, ledger)).toMatchObject(SOUND);
  }
  expect(ledger.acknowledged.size).toBeGreaterThan(CRASHES);
});

const isLong = process.env.SLUICE_CRASHES !== undefined;

/** System calls at which the process dies: before the Nth of them takes effect. */
const POINTS: readonly (readonly [call: string, times: readonly number[]])[] = [
  ["pwrite64", isLong ? [1, 9, 40, 41, 42, 95, 160, 333] : [1, 41, 160]],
  ["pwritev", isLong ? [1, 2, 9, 40, 41, 160, 333] : [1, 2, 160]],
  [SYNCS, isLong ? [1, 3, 6, 11, 30] : [1, 6]],
  ["ftruncate", [1]],
  ["unlink", [1]],
];

it.skipIf(!hasStrace())(
  "loses nothing when it is killed at a named point: a write, a sync, a truncation (needs strace)",
  { timeout: 900_000 },
  async () => {
    const directory = temporaryDirectory();
    const ledger = new Ledger();
    for (const [call, times] of POINTS) {
      for (const time of times) {
        const under = tampering(call, `signal=SIGKILL:when=${time}`);
        const child = startChild({ directory, run: `${call}${time}`, appends: 400 }, ledger, under);
        await child.ended;
        expect(await examine(directory, ledger), `${call} ${time}`).toMatchObject(SOUND);
      }
    }
    expect(ledger.acknowledged.size).toBeGreaterThan(0);
  },
);
