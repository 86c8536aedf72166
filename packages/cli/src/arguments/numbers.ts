import { CommandFailure } from "../failures/exit-codes.js";

/** A port, 0 to 65535. */
export function readPort(text: string): number {
  return readInteger("--port", text, 0, 65_535);
}

/** An integer in bounds, inclusive; refuses with the option's name. */
export function readInteger(option: string, text: string, min: number, max: number): number {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new CommandFailure("usage", `${option} must be an integer from ${min} to ${max}, got ${text}`);
}

/** `500ms`, `30s`, `5m`, `2h`, `7d`, or milliseconds; refuses with the option's name. */
export function readDuration(option: string, text: string): number {
  const match = /^(\d{1,12})(ms|s|m|h|d)?$/.exec(text);
  if (match === null)
    throw new CommandFailure(
      "usage",
      `${option} must be a duration such as 500ms, 30s, 5m, 2h or 7d, got ${text}`,
    );
  return Number(match[1]) * UNITS_MS[(match[2] ?? "ms") as keyof typeof UNITS_MS];
}

/** `7d`, `90m`: in the largest unit that leaves no fraction, as `readDuration` reads it. */
export function durationText(ms: number): string {
  const [unit, size] = Object.entries(UNITS_MS).findLast(([, unitMs]) => ms % unitMs === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
