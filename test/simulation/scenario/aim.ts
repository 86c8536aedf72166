import type { Random } from "../world/random.js";
import type { Scenario } from "./scenario.js";

/** The longest time from a call of the SDK to the result of its delivery on disk, if nothing fails, in milliseconds. */
const UNDER_WAY_MS = 120;

/** A time for a fault. Mostly while messages are under way: faults in idle hours find little. */
export function aim(random: Random, { steps }: Scenario, lengthMs: number): number {
  const sent = steps.flatMap((step) => (step.kind === "messages" ? [step] : []));
  if (sent.length === 0 || random.chance(0.3)) return random.integer(0, lengthMs);
  const { atMs, everyMs, count } = random.pick(sent);
  return atMs + everyMs * random.integer(0, count - 1) + random.integer(0, UNDER_WAY_MS);
}
