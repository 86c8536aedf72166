import {
  type CatalogEntryView,
  type DestinationView,
  NOTIFY_AFTER,
  type SourceKindView,
  type SourceView,
} from "@sluice/control-api";
import { INCIDENT_SOURCE_ID, RETRY_WINDOW, retrySchedule } from "@sluice/protocol";
import { Link } from "wouter";
import { useSources } from "../../../api/queries.js";
import { TransformationChoice } from "../../../forms/choices.js";
import { type DurationDraft, DurationSetting, durationDraft, durationMs } from "../../../forms/duration.js";
import { addresses } from "../../../routing/addresses.js";
import { Checkbox, TextField } from "../../../ui/controls/field.js";
import { type FieldIssue, issueAt } from "../../../words/errors.js";
import { duration } from "../../../words/numbers.js";
import { SOURCE_KINDS } from "../../sources/source-link.js";
import { draftOf, type SettingsDraft, settingsOf } from "./settings-draft.js";
import { SettingsForm } from "./settings-form.js";

/** What the form edits of a destination. */
export interface DestinationDraft {
  readonly name: string;
  readonly sourceIds: readonly string[];
  readonly settings: SettingsDraft;
  /** Empty: none. */
  readonly transformationId: string;
  readonly retryFor: DurationDraft;
  readonly notifyAfter: DurationDraft;
}

export function destinationDraft(destination: DestinationView | undefined): DestinationDraft {
  return {
    name: destination?.name ?? "",
    sourceIds: destination?.sourceIds ?? [],
    settings: draftOf(destination?.settings ?? {}),
    transformationId: destination?.transformationId ?? "",
    retryFor: durationDraft(destination?.retryForMs ?? RETRY_WINDOW.defaultMs),
    notifyAfter: durationDraft(destination?.notifyAfterMs ?? NOTIFY_AFTER.defaultMs),
  };
}

/** The draft for the API. */
export function destinationInput(draft: DestinationDraft, { settingsSchema }: CatalogEntryView) {
  return {
    name: draft.name.trim(),
    sourceIds: draft.sourceIds,
    settings: settingsOf(draft.settings, settingsSchema),
    retryForMs: durationMs(draft.retryFor) ?? RETRY_WINDOW.defaultMs,
    notifyAfterMs: durationMs(draft.notifyAfter) ?? NOTIFY_AFTER.defaultMs,
  };
}

interface FieldsProps {
  readonly entry: CatalogEntryView;
  readonly draft: DestinationDraft;
  /** The settings that it has now. Absent: it is new. */
  readonly stored?: DestinationView["settings"];
  readonly issues: readonly FieldIssue[];
  readonly onChange: (part: Partial<DestinationDraft>) => void;
}

/** The fields of a destination. Of a new one, times that are right for most are folded. */
export function DestinationFields({ entry, draft, stored, issues, onChange }: FieldsProps) {
  const times = <TimeFields draft={draft} issues={issues} onChange={onChange} />;
  return (
    <>
      <SettingsForm
        schema={entry.settingsSchema}
        draft={draft.settings}
        stored={stored ?? NOTHING}
        issues={issues}
        onChange={(settings) => onChange({ settings })}
      />
      <SourceChoice
        sources={useSources().data ?? []}
        kinds={entry.sources}
        chosen={draft.sourceIds}
        onChange={(sourceIds) => onChange({ sourceIds })}
      />
      <TextField
        label="Name"
        hint={
          <>
            Messages can address this destination by this name or its type's name in <code>integrations</code>
            . Case-sensitive.
          </>
        }
        error={issueAt(issues, "name")}
        value={draft.name}
        onChange={({ target }) => onChange({ name: target.value })}
      />
      <TransformationChoice
        of="destination"
        chosen={draft.transformationId}
        error={issueAt(issues, "transformationId")}
        onChange={(transformationId) => onChange({ transformationId })}
      />
      {stored === undefined ? (
        <details className="more" open={issues.some(({ path }) => path.endsWith("Ms"))}>
          <summary>Retries and notification</summary>
          <div className="stack-wide">{times}</div>
        </details>
      ) : (
        times
      )}
    </>
  );
}

const NOTHING = {};

function TimeFields({ draft, issues, onChange }: Pick<FieldsProps, "draft" | "issues" | "onChange">) {
  return (
    <>
      <DurationSetting
        legend="Retry window"
        sentence="Retry a failed message for"
        label="Retry window"
        hint={scheduleInWords(durationMs(draft.retryFor))}
        error={issueAt(issues, "retryForMs")}
        value={draft.retryFor}
        onChange={(retryFor) => onChange({ retryFor })}
      />
      <DurationSetting
        legend="Notification"
        sentence="Notify when it has been failing for"
        label="Time until a notification"
        hint={
          <>
            1 minute to 7 days. <Link href={addresses.settings()}>Settings</Link> shows the destinations that
            are notified.
          </>
        }
        error={issueAt(issues, "notifyAfterMs")}
        value={draft.notifyAfter}
        onChange={(notifyAfter) => onChange({ notifyAfter })}
      />
    </>
  );
}

/** Attempts to name before "then at most … apart". */
const NAMED_ATTEMPTS = 8;

/** The attempts at a message that always fails. */
function scheduleInWords(windowMs: number = RETRY_WINDOW.defaultMs): string {
  if (!(windowMs >= RETRY_WINDOW.minMs && windowMs <= RETRY_WINDOW.maxMs)) return "1 minute to 7 days";
  const { attemptsAtMs, longestGapMs } = retrySchedule(windowMs);
  const named = attemptsAtMs.slice(0, NAMED_ATTEMPTS).map((ms) => (ms === 0 ? "0 s" : duration(ms)));
  return `About ${attemptsAtMs.length} attempts: after ${named.join(", ")}, then at most ${duration(longestGapMs)} apart. Changes also apply to messages that are already being retried.`;
}

/** The sources that a destination gets messages from. */
function SourceChoice({
  sources,
  kinds,
  chosen,
  onChange,
}: {
  sources: readonly SourceView[];
  /** The kinds of source that this destination type supports. */
  kinds: readonly SourceKindView[];
  chosen: readonly string[];
  onChange: (ids: readonly string[]) => void;
}) {
  const fitting = sources.filter((source) => kinds.includes(source.kind));
  const choices = [
    ...fitting.map(({ id, name, kind }) => ({ id, name, hint: SOURCE_KINDS[kind].label })),
    { id: INCIDENT_SOURCE_ID, name: INCIDENT_SOURCE_ID, hint: "Built in: incidents of this collector" },
  ];
  return (
    <fieldset className="stack-tight choices">
      <legend className="field-label">Sources</legend>
      {fitting.length === 0 && (
        <p className="soft">
          No source of a supported kind yet. <Link href={addresses.sources()}>Create one</Link>, then connect
          it here.
        </p>
      )}
      {choices.map(({ id, name, hint }) => (
        <Checkbox
          key={id}
          label={
            <>
              {name} <span className="small faint">{hint}</span>
            </>
          }
          checked={chosen.includes(id)}
          onChange={(isChosen) => onChange(isChosen ? [...chosen, id] : chosen.filter((one) => one !== id))}
        />
      ))}
    </fieldset>
  );
}
