import type { DestinationHealthView } from "@sluice/control-api";
import type { Tone } from "./states.js";

interface HealthWords {
  readonly label: string;
  readonly tone: Tone;
}

export const HEALTH: Readonly<Record<DestinationHealthView, HealthWords>> = {
  good: { label: "Delivering", tone: "good" },
  idle: { label: "Idle", tone: "quiet" },
  failing: { label: "Failing", tone: "bad" },
  url_disabled: { label: "URL disabled", tone: "bad" },
  partly_disabled: { label: "Partly disabled", tone: "wait" },
  backing_off: { label: "Backing off", tone: "bad" },
  disabled: { label: "Disabled", tone: "quiet" },
};
