import { pause } from "../until.ts";
import type { Trouble } from "./trouble.ts";

const LONGEST_MS = 8_000;
const LONGEST_SHORT_MS = 2_500;

/** Longer than the SDK waits for an answer, and sometimes longer than a webhook may take. */
export const pauseCollector: Trouble = {
  name: "pause",
  title: "SIGSTOP, then SIGCONT",
  stores: ["embedded", "memory"],
  needs: [],
  async strike({ world, random, isShort }) {
    world.collector.signal("SIGSTOP");
    await pause(random.integer(100, isShort ? LONGEST_SHORT_MS : LONGEST_MS));
    // Answers that arrived meanwhile are read: a standstill explains no repetition by itself.
    world.collector.signal("SIGCONT");
  },
};
