import type { SyncSchedule } from "@sluice/protocol";

/** How often changes are sent, as a form offers it. */
export const SYNC_CHOICES: readonly (readonly [everyMs: string, label: string])[] = [
  ["0", "At once, every change"],
  ["60000", "Every minute"],
  ["3600000", "Every hour"],
  ["10800000", "Every three hours"],
  ["86400000", "Every day"],
];

/** The chosen schedule; a first delay that was set elsewhere stays. */
export function syncOf(everyMs: string, before: SyncSchedule | undefined): SyncSchedule {
  return { ...before, everyMs: Number(everyMs) };
}
