import type { DurationDraft } from "../../../forms/duration/duration-draft.js";
import { DurationFields } from "../../../forms/duration/duration-fields.js";
import { type FieldIssue, issueAt } from "../../../words/issues.js";

/** How often an incident that comes and goes is notified of. */
export function IntervalField({
  value,
  issues,
  onChange,
}: {
  value: DurationDraft;
  issues: readonly FieldIssue[];
  onChange: (value: DurationDraft) => void;
}) {
  const error = issueAt(issues, "minIntervalMs");
  return (
    <fieldset className="stack-tight">
      <legend className="field-label">Repeated incidents</legend>
      <div className="leaf-line">
        <span className="soft">Notify of the same incident at most once in</span>
        <DurationFields label="Time between notifications" value={value} onChange={onChange} />
      </div>
      {error === undefined ? (
        <p className="field-hint">
          1 minute to 1 day. A destination that fails on and off does not flood you.
        </p>
      ) : (
        <p className="field-error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}
