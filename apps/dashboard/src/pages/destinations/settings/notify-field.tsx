import { Link } from "wouter";
import type { DurationDraft } from "../../../forms/duration/duration-draft.js";
import { DurationFields } from "../../../forms/duration/duration-fields.js";
import { addresses } from "../../../routing/addresses.js";
import { type FieldIssue, issueAt } from "../../../words/issues.js";

/** The control API's default. */
export const NOTIFY_AFTER_MS = 15 * 60_000;

/** How long a destination may fail before somebody is told. */
export function NotifyField({
  value,
  issues,
  onChange,
}: {
  value: DurationDraft;
  issues: readonly FieldIssue[];
  onChange: (value: DurationDraft) => void;
}) {
  const error = issueAt(issues, "notifyAfterMs");
  return (
    <fieldset className="stack-tight">
      <legend className="field-label">Notification</legend>
      <div className="leaf-line">
        <span className="soft">Notify when it has been failing for</span>
        <DurationFields label="Time until a notification" value={value} onChange={onChange} />
      </div>
      {error === undefined ? (
        <p className="field-hint">
          1 minute to 7 days. <Link href={addresses.settings()}>Settings</Link> shows the destinations that
          are notified.
        </p>
      ) : (
        <p className="field-error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}
