import { CommandFailure } from "../failures/exit-codes.js";

/** Parses `--port`, 0 to 65535. */
export function readPort(text: string): number {
  return readInteger("--port", text, 0, 65_535);
}

/** Parses an integer from `min` to `max`. Errors name the option. */
export function readInteger(option: string, text: string, min: number, max: number): number {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new CommandFailure("usage", `${option} must be an integer from ${min} to ${max}, got ${text}`);
}

/** Parses a duration such as `500ms`, `30s`, `5m`, `2h` or `7d`; a plain number is milliseconds. Errors name the option. */
export function readDuration(option: string, text: string): number {
  const match = /^(\d{1,12})(ms|s|m|h|d)?$/.exec(text);
  if (match === null)
    throw new CommandFailure(
      "usage",
      `${option} must be a duration such as 500ms, 30s, 5m, 2h or 7d, got ${text}`,
    );
  return Number(match[1]) * UNITS_MS[(match[2] ?? "ms") as keyof typeof UNITS_MS];
}

/** Formats a duration in the largest unit without a fraction, such as `7d` or `90m`. `readDuration` parses it. */
export function durationText(ms: number): string {
  const [unit, size] = Object.entries(UNITS_MS).findLast(([, unitMs]) => ms % unitMs === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses `--count`, after how many items a command stops. Infinity if it is not given. */
export function readCount(text: string | undefined): number {
  return text === undefined ? Number.POSITIVE_INFINITY : readInteger("--count", text, 1, 1e9);
}
