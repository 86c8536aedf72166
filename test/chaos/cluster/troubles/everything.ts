import { pause } from "../../until.ts";
import type { ClusterTrouble } from "../trouble.ts";
import { stopInOrder } from "./collectors.ts";

export const restartAll: ClusterTrouble = {
  name: "restart-all",
  title: "kill -9 of all processes at once",
  async strike({ world, random, mark }) {
    await Promise.all([
      ...world.members.map((member) => member.signal("SIGKILL")),
      ...world.nats.nodes.map((node) => node.kill()),
    ]);
    await pause(random.integer(0, 500));
    mark();
    // The servers listen, and have not elected a leader yet.
    await Promise.all(world.nats.nodes.map((node) => node.start()));
    await Promise.all(world.members.map((member) => member.start()));
  },
};

/** As an operator upgrades a cluster: one after the other, each when the one before is ready. */
export const rollingRestart: ClusterTrouble = {
  name: "rolling-restart",
  title: "a rolling restart of all processes",
  async strike({ world, mark }) {
    mark();
    for (const member of world.members) {
      await stopInOrder(member);
      await member.start();
      await world.whole();
    }
    for (const node of world.nats.nodes) {
      await node.stop();
      await node.start();
      await world.nats.ready();
    }
  },
};
