import type { AttemptView, MessageView, RequestBodyView } from "@sluice/control-api";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { StateBadge } from "../../ui/data/badge.js";
import { DueTime } from "../../ui/data/time.js";
import { counted } from "../../words/numbers.js";
import { STATES, type Tone } from "../../words/states.js";
import { clockTime, exactTime } from "../../words/times.js";
import { visibleText } from "../../words/visible-text.js";
import { AttemptDetails } from "../deliveries/attempts/attempt-details.js";
import { attemptTone } from "../deliveries/attempts/attempt-tone.js";
import { SourceLink } from "../sources/source-link.js";
import { IssueList } from "./issue-list.js";
import { type DestinationTimeline, type Moment, timelineOf } from "./timeline.js";

/** What happened to a message: until it was on disk, then at each destination. */
export function Timeline({ view }: { view: MessageView }) {
  const { ingestion, destinations } = timelineOf(view);
  return (
    <>
      <ol className="timeline" aria-label="Until it was stored, oldest first">
        {ingestion.map((moment) => (
          <MomentView key={moment.kind} moment={moment} />
        ))}
      </ol>
      {destinations.map((one) => (
        <DestinationSteps key={one.outcome.id} {...one} />
      ))}
    </>
  );
}

/** Attempts before the last ones, which are folded. */
const SHOWN_ATTEMPTS = 3;

/** One destination: its state, then its attempts, oldest first. Of many, the last ones are shown. */
function DestinationSteps({ destinationId, attempts, outcome, endedAt }: DestinationTimeline) {
  const earlier = attempts.slice(0, Math.max(0, attempts.length - SHOWN_ATTEMPTS));
  const names = useNames();
  const name = names.destination(destinationId);
  return (
    <section className="destination-timeline" aria-label={name}>
      <h3 className="row">
        <Link href={addresses.destination(destinationId)}>{name}</Link>
        <StateBadge state={outcome.state} />
      </h3>
      <ol className="timeline" aria-label={`${name}, oldest first`}>
        {earlier.length > 0 && (
          <Step tone="quiet" title={counted(earlier.length, "earlier attempt")}>
            <details className="more">
              <summary>Show</summary>
              <ol className="timeline">
                {earlier.map((attempt) => (
                  <AttemptStep
                    key={`${attempt.at} ${attempt.url}`}
                    attempt={attempt}
                    requestBody={outcome.requestBody}
                  />
                ))}
              </ol>
            </details>
          </Step>
        )}
        {attempts.slice(earlier.length).map((attempt) => (
          <AttemptStep
            key={`${attempt.at} ${attempt.url}`}
            attempt={attempt}
            requestBody={outcome.requestBody}
          />
        ))}
        <OutcomeStep outcome={outcome} endedAt={endedAt} />
      </ol>
    </section>
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

function AttemptStep({
  attempt,
  requestBody,
}: {
  attempt: AttemptView;
  requestBody: RequestBodyView | undefined;
}) {
  return (
    <Step
      tone={attemptTone(attempt)}
      at={attempt.at}
      title={`Attempt ${attempt.attempt}`}
      note={attempt.replay && "replay"}
    >
      <AttemptDetails attempt={attempt} requestBody={requestBody} />
    </Step>
  );
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
        {visibleText(outcome.reason, 500)}
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
