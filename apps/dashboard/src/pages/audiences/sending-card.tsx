import { useDestinations } from "../../api/queries.js";
import { DestinationChoice } from "../../forms/destination-choice.js";
import { DurationFields } from "../../forms/duration.js";
import { Checkbox } from "../../ui/controls/field.js";
import { Card } from "../../ui/layout/page.js";
import { type SendingDraft, scheduleInWords, syncOf } from "./sending-draft.js";

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
