import type { SyncView } from "@sluice/control-api";

/** The state of a sync, with its progress: `evaluating 40 %`. */
export function progressText({ state, progress }: SyncView): string {
  return progress === 1 ? state : `${state} ${Math.floor(progress * 100)} %`;
}
