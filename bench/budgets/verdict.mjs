import { median } from "../figures.mjs";

/** How much a ratio may rise above the stored one. */
export const TOLERANCE = 0.25;
/** A round counts only if its floor is this close to the median of the floors: otherwise the machine was disturbed during it. */
export const FLOOR_SPREAD = 0.3;
/**
 * A round counts only if a busy loop before and after it took at most this many times its CPU time. On a contended machine, threads
 * that wake each other cost the collector more than the floor, which has one, so the ratio says little.
 */
export const MOST_CONTENTION = 1.5;
/** Fewer rounds than these decide nothing. */
export const FEWEST_ROUNDS = 3;

/**
 * The rounds during which the machine was free and as fast as in most. A round is `{floor, ours, contention}`, the first two in CPU
 * microseconds per message.
 */
export function undisturbed(all) {
  const rounds = all.filter(({ contention }) => contention <= MOST_CONTENTION);
  const usual = median(rounds.map(({ floor }) => floor));
  return rounds.filter(({ floor }) => Math.abs(floor / usual - 1) <= FLOOR_SPREAD + 1e-9);
}

/**
 * Whether the cost stayed within the budget, which is the stored ratio to the floor. "unclear" means that too few undisturbed rounds
 * are left to decide.
 */
export function verdict(rounds, budget) {
  const counted = undisturbed(rounds);
  if (counted.length < FEWEST_ROUNDS) return { kind: "unclear", counted: counted.length };
  const floor = median(counted.map((round) => round.floor));
  const ours = median(counted.map((round) => round.ours));
  const ratio = ours / floor;
  const kind = ratio > budget * (1 + TOLERANCE) ? "over" : "within";
  return { kind, counted: counted.length, floor, ours, ratio };
}

/** Whether each undisturbed round alone is over the budget. */
export function isOverInEach(rounds, budget) {
  return undisturbed(rounds).every(({ floor, ours }) => ours / floor > budget * (1 + TOLERANCE));
}
