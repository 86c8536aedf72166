import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { type MountedDisk, makeImage, mountImage } from "../disk/mounted-disk.ts";
import { letSomeSurvive } from "../disk/survivors.ts";
import { pause } from "../until.ts";
import type { World } from "../world.ts";
import type { Trouble } from "./trouble.ts";

const DISK_MB = 256;
/** Longer than what was written to a socket needs to arrive in this process. */
const ANSWERS_ARRIVE_MS = 50;
/** How much of what was not synced the disk has written all the same. */
const SHARES = [0, 0.1, 0.5, 0.9];

const mounted = new WeakMap<World, MountedDisk>();
const cuts = new WeakMap<World, number>();

function mountFor(world: World, image: string): void {
  const disk = mountImage(image, `${image}.mounted`);
  mounted.set(world, disk);
  world.dataFolder = join(disk.mountPoint, "data");
}

/**
 * The data folder is on a file system of its own. Its image has exactly the blocks that reached the disk. While the collector stands
 * still, the image is copied twice: as it is, and after a sync of everything. The next start finds the first copy, with some of the
 * sectors of the second.
 */
export const powerCut: Trouble = {
  name: "power-cut",
  title: "power cut: unsynced writes are lost, or reach the disk in part",
  stores: ["embedded"],
  needs: ["ext4"],
  prepareWorld(world) {
    const image = join(world.folder, "disk-0");
    makeImage(image, DISK_MB);
    mountFor(world, image);
    world.onClose(() => mounted.get(world)?.unmount());
  },
  async strike({ world, random }) {
    const disk = mounted.get(world);
    if (disk?.image === undefined) throw new Error("The world has no disk of its own");
    const cut = (cuts.get(world) ?? 0) + 1;
    cuts.set(world, cut);
    const [afterwards, unsynced] = [join(world.folder, `disk-${cut}`), join(world.folder, "unsynced")];
    world.collector.signal("SIGSTOP");
    await pause(ANSWERS_ARRIVE_MS);
    copyFileSync(disk.image, afterwards);
    execFileSync("sync", ["-f", disk.mountPoint]);
    copyFileSync(disk.image, unsynced);
    await world.killCollector();
    disk.unmount();
    mountFor(world, afterwards);
    const everything = mountImage(unsynced, `${unsynced}.mounted`);
    try {
      letSomeSurvive(world.dataFolder, join(everything.mountPoint, "data"), random.pick(SHARES), random);
    } finally {
      everything.unmount();
    }
    await world.startCollector();
  },
};
