import type { AudienceView, SyncSchedule } from "@sluice/control-api";
import { type DurationDraft, durationDraft, durationMs } from "../../forms/duration.js";
import { duration } from "../../words/numbers.js";

/** The destinations and the schedule of an audience, as typed. */
export interface SendingDraft {
  readonly destinationIds: readonly string[];
  /** Empty: no delay. */
  readonly initialDelay: DurationDraft;
  /** Empty: every change immediately. */
  readonly every: DurationDraft;
  readonly trackEvents: boolean;
  readonly enabled: boolean;
}

export function sendingDraftOf(audience: AudienceView | undefined): SendingDraft {
  return {
    destinationIds: audience?.destinationIds ?? [],
    initialDelay: durationDraft(audience?.sync.initialDelayMs || undefined, "hours"),
    every: durationDraft(audience?.sync.everyMs || undefined, "hours"),
    trackEvents: audience?.trackEvents ?? false,
    enabled: audience?.enabled ?? true,
  };
}

export function syncOf({ initialDelay, every }: SendingDraft): Required<SyncSchedule> {
  return { initialDelayMs: durationMs(initialDelay) ?? 0, everyMs: durationMs(every) ?? 0 };
}

export function scheduleInWords({ initialDelayMs, everyMs }: Required<SyncSchedule>): string {
  const first =
    initialDelayMs > 0 ? `First sync ${duration(initialDelayMs)} after creation` : "First sync immediately";
  const next = everyMs > 0 ? `then all changes every ${duration(everyMs)}` : "then every change immediately";
  return `${first}, ${next}.`;
}
