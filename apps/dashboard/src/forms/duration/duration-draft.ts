export const DURATION_UNITS = {
  seconds: 1_000,
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
} as const;
export type DurationUnit = keyof typeof DURATION_UNITS;

/** A length of time while somebody writes it. */
export interface DurationDraft {
  /** As typed; empty: none. */
  readonly text: string;
  readonly unit: DurationUnit;
}

/** Undefined when nothing was written; what is no number stays one that no validator takes. */
export function durationMs({ text, unit }: DurationDraft): number | undefined {
  return text.trim() === "" ? undefined : Math.round(Number(text) * DURATION_UNITS[unit]);
}

/** In the greatest unit that gives a whole number. */
export function durationDraft(ms: number | undefined, fallback: DurationUnit = "days"): DurationDraft {
  if (ms === undefined) return { text: "", unit: fallback };
  const unit =
    (["days", "hours", "minutes"] as const).find((one) => ms % DURATION_UNITS[one] === 0) ?? "seconds";
  return { text: String(ms / DURATION_UNITS[unit]), unit };
}
