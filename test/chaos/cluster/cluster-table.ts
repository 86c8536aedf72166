import type { ClusterRound } from "./run-cluster.ts";

const HEAD = [
  "trouble",
  "rounds",
  "acknowledged",
  "lost",
  "repeated",
  "takeovers",
  "first 200",
  "first delivery",
];

/** One row a trouble, in the order of the catalogue. */
export function clusterTable(
  rounds: readonly ClusterRound[],
  order: readonly { readonly title: string }[],
): string {
  const rows = order.flatMap(({ title }) => {
    const ofTrouble = rounds.filter((round) => round.title === title);
    return ofTrouble.length === 0 ? [] : [`| ${[title, ...cellsOf(ofTrouble)].join(" | ")} |`];
  });
  return [`| ${HEAD.join(" | ")} |`, `|${HEAD.map(() => "---|").join("")}`, ...rows].join("\n");
}

function cellsOf(rounds: readonly ClusterRound[]): string[] {
  const sum = (of: (round: ClusterRound) => number): string =>
    rounds.reduce((total, round) => total + of(round), 0).toLocaleString("en-US");
  return [
    String(rounds.length),
    sum(({ acknowledged }) => acknowledged),
    sum(({ lost }) => lost),
    sum(({ repeated }) => repeated),
    sum(({ takeovers }) => takeovers),
    medianAndLongest(rounds.map(({ answeredMs }) => answeredMs)),
    medianAndLongest(rounds.map(({ deliveredMs }) => deliveredMs)),
  ];
}

function medianAndLongest(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const seconds = (ms: number | undefined): string => `${((ms ?? 0) / 1_000).toFixed(1)} s`;
  return `${seconds(sorted[Math.floor((sorted.length - 1) / 2)])} (${seconds(sorted.at(-1))})`;
}
