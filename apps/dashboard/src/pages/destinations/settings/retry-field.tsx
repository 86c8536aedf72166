import { RETRY_WINDOW, retrySchedule } from "@sluice/protocol";
import { type DurationDraft, durationMs } from "../../../forms/duration/duration-draft.js";
import { DurationFields } from "../../../forms/duration/duration-fields.js";
import { type FieldIssue, issueAt } from "../../../words/issues.js";
import { duration } from "../../../words/numbers.js";

/** Attempts to name before "then at most … apart". */
const NAMED_ATTEMPTS = 8;

/** How long a destination's failed messages are retried, with the attempts that follow. */
export function RetryField({
  value,
  issues,
  onChange,
}: {
  value: DurationDraft;
  issues: readonly FieldIssue[];
  onChange: (value: DurationDraft) => void;
}) {
  const error = issueAt(issues, "retryForMs");
  return (
    <fieldset className="stack-tight">
      <legend className="field-label">Retry window</legend>
      <div className="leaf-line">
        <span className="soft">Retry a failed message for</span>
        <DurationFields label="Retry window" value={value} onChange={onChange} />
      </div>
      {error === undefined ? (
        <p className="field-hint">{scheduleInWords(durationMs(value))}</p>
      ) : (
        <p className="field-error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}

/** The attempts at a message that always fails. */
export function scheduleInWords(windowMs: number = RETRY_WINDOW.defaultMs): string {
  if (!(windowMs >= RETRY_WINDOW.minMs && windowMs <= RETRY_WINDOW.maxMs)) return "1 minute to 7 days";
  const { attemptsAtMs, longestGapMs } = retrySchedule(windowMs);
  const named = attemptsAtMs.slice(0, NAMED_ATTEMPTS).map((ms) => (ms === 0 ? "0 s" : duration(ms)));
  return `About ${attemptsAtMs.length} attempts: after ${named.join(", ")}, then at most ${duration(longestGapMs)} apart. Changes also apply to messages that are already being retried.`;
}
