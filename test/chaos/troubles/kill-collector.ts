import type { Trouble } from "./trouble.ts";

/** Some of the kills strike again while the collector starts. */
const KILLED_AT_START = 0.3;
const START_MS = 600;

export const killCollector: Trouble = {
  name: "kill-collector",
  title: "kill -9 of the collector, also while it starts",
  stores: ["embedded"],
  needs: [],
  async strike({ world, random }) {
    await world.killCollector();
    if (random.next() < KILLED_AT_START) await world.startAndKill(random.integer(0, START_MS));
    await world.startCollector();
  },
};
