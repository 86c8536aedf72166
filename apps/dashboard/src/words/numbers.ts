/** Formats counts, shares, rates, durations and sizes. The API sends plain numbers. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** `12,408`; `1.2M` from a million on. */
export function count(value: number): string {
  return value >= 1_000_000 ? compact.format(value) : whole.format(value);
}

/** `1 message`, `2 messages`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** `12.4/s`: one decimal below 100. */
export function perSecond(value: number): string {
  if (value >= 100) return `${count(Math.round(value))}/s`;
  return `${value === 0 ? "0" : value.toFixed(1)}/s`;
}

/** The mean rate of a count over a time; per minute or hour if it is slow. */
export function rateText(value: number | undefined, overMs: number | undefined): string {
  if (value === undefined || overMs === undefined || overMs <= 0) return "…";
  const second = (value * 1_000) / overMs;
  if (value === 0 || second >= 0.1) return perSecond(second);
  return second * 60 >= 0.1 ? `${(second * 60).toFixed(1)}/min` : `${(second * 3_600).toFixed(1)}/h`;
}

interface Results {
  readonly delivered: number;
  readonly failed: number;
  readonly retried: number;
}

/** The share of what was tried that succeeded, or a dash if nothing was. A destination that is down has none. */
export function successText(results: Results | undefined): string {
  if (results === undefined) return "–";
  const tried = results.delivered + results.failed + results.retried;
  return tried === 0 ? "–" : percent(results.delivered / tried);
}

/** `99.3 %`. Never rounds up to 100 % or down to 0 %. */
export function percent(share: number): string {
  if (share >= 1) return "100 %";
  if (share <= 0) return "0 %";
  const value = share * 100;
  if (value > 99.9) return "> 99.9 %";
  if (value < 0.1) return "< 0.1 %";
  return `${value >= 10 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(1)} %`;
}

const STEPS: readonly (readonly [unit: string, ms: number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
];

/** `84 ms`, `1.2 s`, `4 min`, `3 h 45 min`: the two largest units. */
export function duration(ms: number): string {
  if (ms < 1) return ms <= 0 ? "0 ms" : "< 1 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1).replace(/\.0$/, "")} s`;
  for (const [index, [unit, size]] of STEPS.entries()) {
    if (ms < size) continue;
    const first = Math.floor(ms / size);
    const next = STEPS[index + 1];
    const rest = next === undefined ? 0 : Math.floor((ms % size) / next[1]);
    return next === undefined || rest === 0 ? `${first} ${unit}` : `${first} ${unit} ${rest} ${next[0]}`;
  }
  return `${Math.round(ms)} ms`;
}

/** 1 KB is 1,024 bytes, as everywhere in Sluice. */
export function bytes(value: number): string {
  if (value < 1_024) return `${value} bytes`;
  if (value < 1_024 * 1_024) return `${(value / 1_024).toFixed(1)} KB`;
  return `${(value / 1_024 / 1_024).toFixed(1)} MB`;
}
