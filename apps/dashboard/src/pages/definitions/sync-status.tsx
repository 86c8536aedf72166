import type { SyncView } from "@sluice/control-api";
import { Badge } from "../../ui/data/badge.js";
import { DueTime, Time } from "../../ui/data/time.js";
import { counted, percent } from "../../words/numbers.js";
import type { Tone } from "../../words/states.js";

const WORDS: Readonly<Record<SyncView["state"], { readonly label: string; readonly tone: Tone }>> = {
  reading_history: { label: "Reading history", tone: "wait" },
  evaluating: { label: "Evaluating", tone: "wait" },
  live: { label: "Live", tone: "good" },
  paused: { label: "Paused", tone: "quiet" },
  disabled: { label: "Disabled", tone: "quiet" },
  scheduled: { label: "Scheduled", tone: "accent" },
};

export function SyncBadge({ status }: { status: SyncView }) {
  const { label, tone } = WORDS[status.state];
  const isInProgress = status.state === "reading_history" || status.state === "evaluating";
  return (
    <Badge tone={tone}>
      {label}
      {isInProgress && ` ${percent(status.progress)}`}
    </Badge>
  );
}

/** The progress of the first sync. */
export function SyncProgress({ status }: { status: SyncView }) {
  if (status.state === "live" || status.state === "disabled") return null;
  return (
    <div className="stack-tight" role="status">
      <progress className="progress" max={1} value={status.progress} aria-label="Progress of the sync" />
      <p className="small soft">
        {WORDS[status.state].label}: {counted(status.evaluated, "profile")} so far, started{" "}
        <Time at={status.startedAt} />
        {status.nextSyncAt && (
          <>
            {" "}
            · next sync <DueTime at={status.nextSyncAt} />
          </>
        )}
      </p>
    </div>
  );
}
