export const DURATION_UNITS = {
  seconds: 1_000,
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
} as const;
export type DurationUnit = keyof typeof DURATION_UNITS;

/** A duration as typed. */
export interface DurationDraft {
  /** As typed; empty: none. */
  readonly text: string;
  readonly unit: DurationUnit;
}

/** Undefined if empty. NaN if it is not a number, which no validator accepts. */
export function durationMs({ text, unit }: DurationDraft): number | undefined {
  return text.trim() === "" ? undefined : Math.round(Number(text) * DURATION_UNITS[unit]);
}

/** The duration in the largest unit that gives a whole number. */
export function durationDraft(ms: number | undefined, fallback: DurationUnit = "days"): DurationDraft {
  if (ms === undefined) return { text: "", unit: fallback };
  const unit =
    (["days", "hours", "minutes"] as const).find((one) => ms % DURATION_UNITS[one] === 0) ?? "seconds";
  return { text: String(ms / DURATION_UNITS[unit]), unit };
}
