import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pause, until } from "../../until.ts";
import type { Member } from "../cluster-world.ts";
import type { ClusterScene, ClusterTrouble } from "../trouble.ts";

/** Until another process serves requests, and for a while under it. */
async function untilTakenOver({ world, random }: ClusterScene, former: Member): Promise<void> {
  await world.owner(world.others(former));
  await pause(random.integer(0, 1_000));
}

/** Until it has noticed that another process is the owner. */
async function untilDeposed({ url, node }: Member): Promise<void> {
  await until(`${node} follows`, async () => {
    const ready = (await fetch(`${url}/readyz`).then((answer) => answer.json())) as { role?: string };
    return ready.role === "follower";
  });
}

function wasDeposed(log: readonly string[]): string | undefined {
  return log.find((line) => line.includes("stops being the owner") && line.includes('"how":"lost"'));
}

export const killOwner: ClusterTrouble = {
  name: "kill-owner",
  title: "kill -9 of the owner",
  async strike(scene) {
    const owner = await scene.world.owner();
    scene.mark(owner.node);
    await owner.signal("SIGKILL");
    await untilTakenOver(scene, owner);
    await owner.start();
  },
};

export const killFollower: ClusterTrouble = {
  name: "kill-follower",
  title: "kill -9 of a follower",
  async strike({ world, random, mark }) {
    const follower = random.pick(world.others(await world.owner()));
    mark(follower.node);
    await follower.signal("SIGKILL");
    await pause(random.integer(0, 2_000));
    await follower.start();
  },
};

export const stopOwner: ClusterTrouble = {
  name: "stop-owner",
  title: "the owner is stopped in order",
  async strike(scene) {
    const owner = await scene.world.owner();
    scene.mark(owner.node);
    await stopInOrder(owner);
    await untilTakenOver(scene, owner);
    await owner.start();
  },
};

/** The owner stands still for longer than its lease, and goes on where it was. */
export const freezeOwner: ClusterTrouble = {
  name: "freeze-owner",
  title: "SIGSTOP of the owner for longer than its lease, then SIGCONT",
  async strike(scene) {
    const owner = await scene.world.owner();
    const logged = owner.log.length;
    scene.mark(owner.node);
    await owner.signal("SIGSTOP");
    await untilTakenOver(scene, owner);
    await owner.signal("SIGCONT");
    await untilDeposed(owner);
    if (wasDeposed(owner.log.slice(logged)) === undefined)
      throw new Error("The former owner did not notice that it was deposed");
  },
};

/** Bytes between the owner and all NATS servers vanish. The network comes back while another process is the owner. */
export const cutOwner: ClusterTrouble = {
  name: "cut-owner",
  title: "no network between the owner and NATS: bytes vanish",
  async strike(scene) {
    const owner = await scene.world.owner();
    scene.mark(owner.node);
    for (const proxy of owner.network) proxy.setMode("black_hole");
    await untilTakenOver(scene, owner);
    for (const proxy of owner.network) proxy.setMode("pass");
    await untilDeposed(owner);
  },
};

export const wipeCollector: ClusterTrouble = {
  name: "wipe-collector",
  title: "a collector loses its data folder",
  async strike(scene) {
    const { world, random } = scene;
    const owner = await world.owner();
    const wiped = random.pick(world.members);
    scene.mark(wiped.node);
    await wiped.signal("SIGKILL");
    // The folder itself may be a mount point.
    for (const name of readdirSync(wiped.dataFolder))
      rmSync(join(wiped.dataFolder, name), { recursive: true, force: true });
    if (wiped === owner) await untilTakenOver(scene, owner);
    await wiped.start();
  },
};

export async function stopInOrder(member: Member): Promise<void> {
  const code = await member.signal("SIGTERM");
  if (code !== 0) throw new Error(`${member.node} ended with ${code} after SIGTERM`);
}
