import type { AudienceView, SyncSchedule } from "@sluice/control-api";
import { useDestinations } from "../../api/queries.js";
import { DestinationChoice } from "../../forms/choices.js";
import { type DurationDraft, DurationFields, durationDraft, durationMs } from "../../forms/duration.js";
import { Checkbox } from "../../ui/controls/field.js";
import { Card } from "../../ui/layout/page.js";
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

/** Which destinations get the audience, and when. */
export function SendingCard({
  draft,
  onChange,
}: {
  draft: SendingDraft;
  onChange: (part: Partial<SendingDraft>) => void;
}) {
  const hasDestinations = (useDestinations().data ?? []).length > 0;
  return (
    <Card title="Destinations" note="The first sync sends all members, later syncs send only changes">
      <div className="stack">
        <DestinationChoice
          hideLabel
          chosen={draft.destinationIds}
          onChange={(destinationIds) => onChange({ destinationIds })}
        />
        {hasDestinations && (
          <>
            <ScheduleFields draft={draft} onChange={onChange} />
            <Checkbox
              label="Also send track events"
              hint="“Audience Entered” and “Audience Exited”, in addition to the identify message"
              checked={draft.trackEvents}
              onChange={(trackEvents) => onChange({ trackEvents })}
            />
          </>
        )}
        <Checkbox
          label="Enabled"
          hint="While disabled, membership keeps updating but nothing is sent. Enabling it sends the difference."
          checked={draft.enabled}
          onChange={(enabled) => onChange({ enabled })}
        />
      </div>
    </Card>
  );
}

function ScheduleFields({
  draft,
  onChange,
}: {
  draft: SendingDraft;
  onChange: (part: Partial<SendingDraft>) => void;
}) {
  return (
    <fieldset className="stack-tight">
      <legend className="field-label">Schedule</legend>
      <div className="leaf-line">
        <span className="soft">First sync after</span>
        <DurationFields
          label="Delay before the first sync. Leave empty to sync immediately"
          placeholder="0"
          value={draft.initialDelay}
          onChange={(initialDelay) => onChange({ initialDelay })}
        />
        <span className="soft">then every</span>
        <DurationFields
          label="Time between syncs. Leave empty to send every change immediately"
          placeholder="0"
          value={draft.every}
          onChange={(every) => onChange({ every })}
        />
      </div>
      <p className="field-hint">{scheduleInWords(syncOf(draft))}</p>
    </fieldset>
  );
}
