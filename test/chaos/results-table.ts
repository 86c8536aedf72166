import type { TroubleResult } from "./run-trouble.ts";

const HEAD = [
  "trouble",
  "store",
  "rounds",
  "tracked",
  "acknowledged",
  "lost",
  "repeated",
  "recovery, median (longest)",
];

export function tableOf(results: readonly TroubleResult[]): string {
  return [
    `| ${HEAD.join(" | ")} |`,
    `|${HEAD.map(() => "---|").join("")}`,
    ...results.map((result) => `| ${cellsOf(result).join(" | ")} |`),
  ].join("\n");
}

function cellsOf({ title, store, rounds, verdict, recoveryMs }: TroubleResult): string[] {
  const { tracked, acknowledged, lost, repeated } = verdict;
  const sorted = recoveryMs.toSorted((a, b) => a - b);
  const seconds = (ms: number | undefined): string => `${((ms ?? 0) / 1_000).toFixed(1)} s`;
  return [
    title,
    store,
    String(rounds),
    tracked.toLocaleString("en-US"),
    acknowledged.toLocaleString("en-US"),
    String(lost),
    String(repeated),
    `${seconds(sorted[Math.floor((sorted.length - 1) / 2)])} (${seconds(sorted.at(-1))})`,
  ];
}
