import type { AudienceView, SyncSchedule } from "@sluice/protocol";
import { type DurationDraft, durationDraft, durationMs } from "../../forms/duration/duration-draft.js";
import { duration } from "../../words/numbers.js";

/** Where an audience is sent and when, while somebody writes it. */
export interface SendingDraft {
  readonly destinationIds: readonly string[];
  /** Empty: at once. */
  readonly initialDelay: DurationDraft;
  /** Empty: every change at once. */
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
  const first = initialDelayMs > 0 ? `First ${duration(initialDelayMs)} after it is made` : "First at once";
  return `${first}; then ${everyMs > 0 ? `what has changed, every ${duration(everyMs)}` : "every change the moment it happens"}.`;
}
