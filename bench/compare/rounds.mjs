import { median } from "../figures.mjs";

/** How much more CPU a round may take than the base. */
const TOLERANCE = 0.1;

const ratioOf = ({ base, ours }) => ours / base;

/** Whether each round is over the tolerance. One that is not shows that the machine was disturbed in the others. */
export function isSlowerInEach(rounds) {
  return rounds.every((round) => ratioOf(round) > 1 + TOLERANCE);
}

/** The medians of both sides, the median of the rounds' ratios, and its spread. */
export function summary(rounds) {
  const ratios = rounds.map(ratioOf);
  return {
    base: median(rounds.map(({ base }) => base)).toFixed(1),
    ours: median(rounds.map(({ ours }) => ours)).toFixed(1),
    ratio: median(ratios).toFixed(2),
    spread: `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
    rounds: rounds.length,
  };
}
