import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pause, until } from "../../until.ts";
import type { ClusterTrouble } from "../trouble.ts";

const NEEDS = "needs root, to mount a small disk";

function fill(mountPoint: string): { free(): void } {
  const ballast = join(mountPoint, "ballast");
  const { bavail, bsize } = statfsSync(mountPoint);
  try {
    writeFileSync(ballast, new Uint8Array(bavail * bsize));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
  return { free: () => rmSync(ballast) };
}

/** The server gives up storing and has to be started again. The two others are a majority. */
export const fullDiskOfNats: ClusterTrouble = {
  name: "full-disk-nats",
  title: "the disk of a NATS server is full, then has room again",
  lacks: ({ disks }) => (disks.nats === undefined ? NEEDS : undefined),
  async strike({ world, random, mark }) {
    const [node] = world.nats.nodes;
    mark();
    const disk = fill(world.disks.nats ?? "");
    await pause(random.integer(500, 4_000));
    disk.free();
    await node?.kill();
    await node?.start();
    await world.nats.ready();
  },
};

/** The collector is made the owner first, so that both its copy and its work are concerned. */
export const fullDiskOfOwner: ClusterTrouble = {
  name: "full-disk-owner",
  title: "the disk of the owner is full, then has room again",
  lacks: ({ disks }) => (disks.collector === undefined ? NEEDS : undefined),
  async strike({ world, random, mark }) {
    const full = world.named("c");
    await Promise.all(
      world
        .others(full)
        .map(({ node }) => world.api("POST", `/cluster/members/${node}/drain`).catch(() => {})),
    );
    await until("c is the owner", async () => (await world.owner()) === full);
    await Promise.all(
      world.others(full).map(({ node }) => world.api("DELETE", `/cluster/members/${node}/drain`)),
    );
    mark("c");
    const disk = fill(world.disks.collector ?? "");
    await pause(random.integer(500, 6_000));
    disk.free();
  },
};
