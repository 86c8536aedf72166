import { pause } from "../../until.ts";
import type { ClusterTrouble } from "../trouble.ts";

/** Messages that were committed before the majority was gone may still be answered. */
const LAST_ANSWERS_MS = 300;

export const killNatsLeader: ClusterTrouble = {
  name: "kill-nats-leader",
  title: "kill -9 of the NATS server that leads the log",
  async strike({ world, random, mark }) {
    const leader = await world.nats.leaderOf(world.logStream);
    mark();
    await leader.kill();
    await pause(random.integer(0, 3_000));
    await leader.start();
  },
};

/** Nothing may be acknowledged while there is no majority. */
export const killNatsMajority: ClusterTrouble = {
  name: "kill-nats-majority",
  title: "kill -9 of two NATS servers at once",
  async strike({ world, random, probes, mark }) {
    const spared = random.pick(world.nats.nodes);
    const killed = world.nats.nodes.filter((node) => node !== spared);
    await Promise.all(killed.map((node) => node.kill()));
    await pause(LAST_ANSWERS_MS);
    const goneMs = performance.now();
    await pause(random.integer(500, 6_000));
    const wrong = probes.sent.filter(
      ({ sentMs, acknowledgedMs }) => sentMs > goneMs && acknowledgedMs !== undefined,
    );
    if (wrong.length > 0)
      throw new Error(
        `${wrong.length} messages were acknowledged without a majority, such as ${wrong[0]?.messageId}`,
      );
    mark();
    await Promise.all(killed.map((node) => node.start()));
  },
};

export const wipeNats: ClusterTrouble = {
  name: "wipe-nats",
  title: "a NATS server loses its data",
  async strike({ world, random, mark }) {
    const wiped = random.pick(world.nats.nodes);
    mark();
    await wiped.kill();
    wiped.wipe();
    await wiped.start();
    await world.nats.ready();
  },
};
