import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@sluice/resilience";
import { describe, expect, it } from "vitest";
import type { StoreTuning } from "../../src/sqlite/calls/tuning.js";
import { examine, type Findings, Ledger, startChild } from "../crash/ledger.js";
import { temporaryDirectories } from "../temporary-directory.js";

/**
 * A power cut: what the kernel holds in memory is gone, what was synced is there. The store's folder is on a file system of its own,
 * on a loop device; the device's file has exactly the blocks that were written to the device. A copy of that file, taken while the
 * process stands still, is the disk as the next start finds it. The file system's own flushing by time is set far off.
 */
const temporaryDirectory = temporaryDirectories();

const DISK_BYTES = 96 << 20;
const CUTS = Number(process.env.SLUICE_POWER_CUTS ?? 3);

function mayMount(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  try {
    execFileSync("losetup", ["--find"], { stdio: "ignore" });
    execFileSync("mkfs.ext4", ["-V"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

async function withMounted<T>(image: string, run: (mountPoint: string) => Promise<T>): Promise<T> {
  const mountPoint = `${image}.mounted`;
  mkdirSync(mountPoint, { recursive: true });
  execFileSync("mount", ["-o", "loop,commit=600", image, mountPoint]);
  try {
    return await run(mountPoint);
  } finally {
    execFileSync("umount", ["-l", mountPoint]);
  }
}

/** Cuts the power of a busy store and returns the contents after the next start. */
async function cutPower(tuning: Partial<StoreTuning>, round: number): Promise<Findings> {
  const folder = temporaryDirectory();
  const disk = join(folder, "disk");
  const afterwards = join(folder, "afterwards");
  writeFileSync(disk, "");
  truncateSync(disk, DISK_BYTES);
  execFileSync("mkfs.ext4", ["-q", "-F", disk]);
  const ledger = new Ledger();
  await withMounted(disk, async (mountPoint) => {
    const directory = join(mountPoint, "data");
    const child = startChild({ directory, run: `p${round}`, tuning }, ledger);
    await child.said(() => ledger.acknowledged.size > 400 + 700 * Math.random());
    child.kill("SIGSTOP");
    // Everything said until here was acknowledged before the cut; the pipe is read to its end below.
    await systemClock.sleep(50);
    copyFileSync(disk, afterwards);
    child.kill("SIGKILL");
    await child.ended;
  });
  return await withMounted(afterwards, (mountPoint) => examine(join(mountPoint, "data"), ledger));
}

describe.skipIf(!mayMount())("a power cut (needs root, to mount a disk)", () => {
  it(`loses nothing that was acknowledged, over ${CUTS} cuts`, { timeout: 40_000 * CUTS }, async () => {
    for (let round = 0; round < CUTS; round++) {
      // The default durability. The other options are sizes.
      expect(await cutPower({}, round)).toMatchObject({
        lost: [],
        twice: [],
        keptThoughRefused: [],
      });
    }
  });

  it("is detected by this test if syncs are left out", async () => {
    // A checkpoint always syncs and would hide missing syncs, so there is none.
    const { lost } = await cutPower({ syncLog: false, checkpointBytes: 1 << 30 }, 0);
    expect(lost.length).toBeGreaterThan(0);
  });
});
