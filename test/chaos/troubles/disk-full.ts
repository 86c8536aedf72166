import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mountInMemory } from "../disk/mounted-disk.ts";
import { pause, until } from "../until.ts";
import type { Trouble } from "./trouble.ts";

const DISK_MB = 192;

export const diskFull: Trouble = {
  name: "disk-full",
  title: "the disk is full, then has room again",
  stores: ["embedded"],
  needs: ["mount"],
  prepareWorld(world) {
    const disk = mountInMemory(join(world.folder, "disk"), DISK_MB);
    world.onClose(() => disk.unmount());
    world.dataFolder = join(disk.mountPoint, "data");
  },
  async strike({ world, random, isShort }) {
    const mountPoint = join(world.folder, "disk");
    const { bavail, bsize } = statfsSync(mountPoint);
    const left = random.integer(0, 400_000);
    const ballast = join(mountPoint, "ballast");
    fill(ballast, Math.max(0, bavail * bsize - left));
    await until("the collector says that the disk is full", async () => {
      const response = await fetch(`${world.collector.url}/readyz`);
      await response.arrayBuffer();
      return response.status === 503;
    });
    await pause(random.integer(0, isShort ? 500 : 4_000));
    rmSync(ballast);
  },
};

/** The collector writes too, so that there may be less room than a moment ago. The disk is full all the same. */
function fill(file: string, bytes: number): void {
  try {
    writeFileSync(file, new Uint8Array(bytes));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
