import {
  type AttemptView,
  describeReason,
  type MessageView,
  type OutcomeView,
  type RequestBodyView,
} from "@sluice/control-api";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { DueTime, StateBadge } from "../../ui/data/facts.js";
import { Failure } from "../../ui/feedback.js";
import { Icon } from "../../ui/icon.js";
import { visibleText } from "../../words/messages.js";
import { counted } from "../../words/numbers.js";
import { STATES, type Tone } from "../../words/states.js";
import { clockTime, exactTime } from "../../words/times.js";
import { AttemptDetails, attemptTone } from "../deliveries/attempts.js";
import { RetryButton, useRetry } from "../deliveries/retry-button.js";
import { SourceLink } from "../sources/source-link.js";
import { IssueList } from "./issue-list.js";
import { type DestinationTimeline, type Moment, timelineOf } from "./timeline.js";

/** What happened to a message: until it was on disk, then at each destination. */
export function Timeline({ view }: { view: MessageView }) {
  const { ingestion, destinations } = timelineOf(view);
  const failed = destinations.filter(({ outcome }) => outcome.state === "failed").length;
  return (
    <>
      <ol className="timeline" aria-label="Until it was stored, oldest first">
        {ingestion.map((moment) => (
          <MomentView key={moment.kind} moment={moment} />
        ))}
      </ol>
      {destinations.map((one) => (
        <DestinationRow
          key={one.outcome.id}
          timeline={one}
          isUnfolded={destinations.length <= UNFOLDED || (one.outcome.state === "failed" && failed === 1)}
        />
      ))}
    </>
  );
}

/** Attempts before the last ones, which are folded. */
const SHOWN_ATTEMPTS = 3;
/** Of more destinations than this, the attempts are folded, except those of the only one that failed. */
const UNFOLDED = 2;

/** One destination in one row: its state, why, and a retry. On demand its attempts, oldest first; of many, the last ones. */
function DestinationRow({ timeline, isUnfolded }: { timeline: DestinationTimeline; isUnfolded: boolean }) {
  const { destinationId, attempts, outcome } = timeline;
  const [isOpen, setOpen] = useState(isUnfolded);
  const retry = useRetry();
  const name = useNames().destination(destinationId);
  const { state, reason } = outcome;
  return (
    <section className="destination-timeline" aria-label={name}>
      <div className="destination-row">
        <h3>
          <Link href={addresses.destination(destinationId)} title={name}>
            {visibleText(name)}
          </Link>
        </h3>
        <StateBadge state={state} />
        <span className="small soft destination-reason" title={visibleText(reason, 500)}>
          {visibleText(describeReason(reason), 300)}
        </span>
        {canRetry(outcome) && (
          <RetryButton
            destinationId={destinationId}
            busy={retry.isPending}
            label={`Retry ${visibleText(name)}`}
            onRetry={() => retry.mutate([outcome.id])}
          />
        )}
        <button
          type="button"
          className="text-button small"
          aria-expanded={isOpen}
          aria-label={`${counted(attempts.length, "attempt")}: ${visibleText(name)}`}
          onClick={() => setOpen(!isOpen)}
        >
          {counted(attempts.length, "attempt")}
          <Icon name={isOpen ? "up" : "down"} size={12} />
        </button>
      </div>
      {retry.isError && <Failure error={retry.error} />}
      {isOpen && <Attempts label={`${name}, oldest first`} timeline={timeline} />}
    </section>
  );
}

/** Whether a delivery can be retried: an outcome without a time has none yet. */
export function canRetry({ at, state }: OutcomeView): boolean {
  return at !== undefined && (state === "failed" || state === "pending");
}

/** The attempts, oldest first, then the outcome. */
function Attempts({
  label,
  timeline: { attempts, outcome, endedAt },
}: {
  label: string;
  timeline: DestinationTimeline;
}) {
  const earlier = attempts.slice(0, Math.max(0, attempts.length - SHOWN_ATTEMPTS));
  return (
    <ol className="timeline" aria-label={label}>
      {earlier.length > 0 && (
        <Step tone="quiet" title={counted(earlier.length, "earlier attempt")}>
          <details className="more">
            <summary>Show</summary>
            <ol className="timeline">
              <AttemptSteps attempts={earlier} requestBody={outcome.requestBody} />
            </ol>
          </details>
        </Step>
      )}
      <AttemptSteps attempts={attempts.slice(earlier.length)} requestBody={outcome.requestBody} />
      <OutcomeStep outcome={outcome} endedAt={endedAt} />
    </ol>
  );
}

function MomentView({ moment }: { moment: Moment }) {
  switch (moment.kind) {
    case "sent":
      return <Step tone="quiet" at={moment.at} title="Created" note="by the client's clock" />;
    case "received":
      return (
        <Step tone="accent" at={moment.at} title="Received" note={<From sourceId={moment.sourceId} />} />
      );
    case "rejected":
      return (
        <Step tone="bad" at={moment.at} title="Rejected" note="not stored, not sent">
          <IssueList issues={moment.issues} />
        </Step>
      );
    case "stored":
      return (
        <Step
          tone="good"
          at={moment.at}
          title="Stored"
          note={
            moment.destinations === 0
              ? "no destination is connected"
              : `on disk; ${counted(moment.destinations, "destination")}`
          }
        />
      );
    default:
      return moment satisfies never;
  }
}

function From({ sourceId }: { sourceId: string }) {
  return (
    <>
      from <SourceLink id={sourceId} />
    </>
  );
}

function AttemptSteps({
  attempts,
  requestBody,
}: {
  attempts: readonly AttemptView[];
  requestBody: RequestBodyView | undefined;
}) {
  return attempts.map((attempt) => (
    <Step
      key={`${attempt.at} ${attempt.url}`}
      tone={attemptTone(attempt)}
      at={attempt.at}
      title={`Attempt ${attempt.attempt}`}
      note={attempt.replay && "started by hand"}
    >
      <AttemptDetails attempt={attempt} requestBody={requestBody} />
    </Step>
  ));
}

function OutcomeStep({
  outcome,
  endedAt,
}: Pick<DestinationTimeline, "outcome"> & { endedAt: string | undefined }) {
  return (
    <Step
      tone={STATES[outcome.state].tone}
      {...(endedAt === undefined ? {} : { at: endedAt })}
      title={STATES[outcome.state].label}
    >
      <p className="small soft">
        {visibleText(describeReason(outcome.reason), 500)}
        {outcome.nextAttemptAt && (
          <>
            {" "}
            · next attempt <DueTime at={outcome.nextAttemptAt} />
          </>
        )}
      </p>
    </Step>
  );
}

function Step({
  tone,
  at,
  title,
  note,
  children,
}: {
  tone: Tone;
  at?: string;
  title: ReactNode;
  note?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <li className={`step tone-${tone}`}>
      <span className="step-mark" aria-hidden="true" />
      <div className="step-head">
        <span className="step-words">
          <strong>{title}</strong>
          {note && <span className="soft">{note}</span>}
        </span>
        {at && (
          <time className="step-time number" dateTime={at} title={exactTime(at)}>
            {clockTime(Date.parse(at), "ms")}
          </time>
        )}
      </div>
      {children}
    </li>
  );
}
