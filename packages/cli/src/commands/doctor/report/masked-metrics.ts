import type { Aliases } from "./aliases.js";

/** Labels with a fixed set of values. The values of all others are ids, and are replaced by aliases. */
const FIXED_LABELS = new Set([
  "channel",
  "code",
  "health",
  "kind",
  "le",
  "major",
  "minor",
  "mode",
  "node",
  "patch",
  "quantile",
  "result",
  "route",
  "signal",
  "space",
  "state",
  "status",
  "type",
  "version",
]);
/** Values of other labels that are no ids. */
const FIXED_VALUES = new Set(["audiences", "none", "other"]);

const SAMPLE = /^((?:sluice|process|nodejs)_\w+)(?:\{(.*)\})? ([-+\w.]+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const FIXED_TEXT = /^[\w.+:/*-]{1,100}$/;

/** The samples of metrics in Prometheus' text format, without what could name something of the user. Unknown lines are left out. */
export function maskedMetrics(
  text: string,
  aliases: Aliases,
): { readonly [series: string]: number | string } {
  return Object.fromEntries(
    text.split("\n").flatMap((line) => {
      const [, name, labels, value] = SAMPLE.exec(line) ?? [];
      if (name === undefined || value === undefined) return [];
      const number = Number(value);
      // JSON has no infinity and no NaN.
      return [[seriesName(name, labels, aliases), Number.isFinite(number) ? number : String(number)]];
    }),
  );
}

function seriesName(name: string, labels: string | undefined, aliases: Aliases): string {
  if (labels === undefined) return name;
  const masked = [...labels.matchAll(LABEL)].map(
    ([, label = "", value = ""]) => `${label}="${maskedValue(label, value, aliases)}"`,
  );
  return `${name}{${masked.join(",")}}`;
}

function maskedValue(label: string, value: string, aliases: Aliases): string {
  if (FIXED_VALUES.has(value)) return value;
  if (FIXED_LABELS.has(label) && FIXED_TEXT.test(value)) return value;
  return aliases.of(label === "consumer" ? "destination" : label, value);
}
