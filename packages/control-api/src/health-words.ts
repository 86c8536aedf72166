import type { CollectorHealthView } from "./health.js";

/**
 * How much a health matters.
 * - `ok`: messages arrive.
 * - `quiet`: there is nothing to deliver, or you disabled it.
 * - `warning`: messages arrive, but late, or not all of them, or not everywhere.
 * - `problem`: messages do not arrive.
 */
export type HealthLevel = "ok" | "quiet" | "warning" | "problem";

export interface HealthWords {
  readonly label: string;
  readonly level: HealthLevel;
}

/** The words for a health, wherever it is shown. The worst comes first. */
export const HEALTH_WORDS: Readonly<Record<CollectorHealthView["health"], HealthWords>> = {
  storage_unavailable: { label: "Storage unavailable", level: "problem" },
  url_disabled: { label: "URL disabled", level: "problem" },
  backing_off: { label: "Down", level: "problem" },
  failing: { label: "Failing", level: "problem" },
  partly_failing: { label: "Partly failing", level: "warning" },
  partly_disabled: { label: "Partly disabled", level: "warning" },
  retrying: { label: "Retrying", level: "warning" },
  behind: { label: "Behind", level: "warning" },
  good: { label: "Delivering", level: "ok" },
  idle: { label: "Idle", level: "quiet" },
  disabled: { label: "Disabled", level: "quiet" },
};
