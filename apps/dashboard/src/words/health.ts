import { type CollectorHealthView, HEALTH_WORDS, type HealthLevel } from "@sluice/control-api";
import type { Tone } from "./states.js";

const TONES: Readonly<Record<HealthLevel, Tone>> = {
  ok: "good",
  quiet: "quiet",
  warning: "wait",
  problem: "bad",
};

/** The word and the colour of a health. */
export function healthWords(health: CollectorHealthView["health"]): {
  readonly label: string;
  readonly tone: Tone;
} {
  const { label, level } = HEALTH_WORDS[health];
  return { label, tone: TONES[level] };
}

/** Whether messages do not arrive, or not as they should. */
export function needsAttention(health: CollectorHealthView["health"]): boolean {
  const { level } = HEALTH_WORDS[health];
  return level === "warning" || level === "problem";
}
