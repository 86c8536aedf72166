import type { MessageView } from "@sluice/control-api";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { StateBadge } from "../../ui/data/badge.js";
import { Time } from "../../ui/data/time.js";
import { counted } from "../../words/numbers.js";
import { STATES, type Tone } from "../../words/states.js";
import { clockTime, exactTime } from "../../words/times.js";
import { visibleText } from "../../words/visible-text.js";
import { AttemptDetails } from "../deliveries/attempt-details.js";
import { attemptTone } from "../deliveries/attempt-tone.js";
import { SourceLink } from "../sources/source-link.js";
import { IssueList } from "./issue-list.js";
import { type Moment, timelineOf } from "./timeline.js";

/** What happened to a message, from the client's timestamp to the last response. */
export function Timeline({ view }: { view: MessageView }) {
  const moments = timelineOf(view);
  return (
    <ol className="timeline" aria-label="Timeline, oldest first">
      {moments.map((moment, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: moments keep their order
        <MomentView key={index} moment={moment} />
      ))}
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
              ? "on disk; no destination is connected"
              : `on disk; ${counted(moment.destinations, "destination")}`
          }
        />
      );
    case "attempt":
      return <AttemptStep {...moment} />;
    case "outcome":
      return <OutcomeStep {...moment} />;
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

function DestinationLink({ id }: { id: string }) {
  const names = useNames();
  return <Link href={addresses.destination(id)}>{names.destination(id)}</Link>;
}

function AttemptStep({ at, destinationId, attempt }: Extract<Moment, { kind: "attempt" }>) {
  return (
    <Step
      tone={attemptTone(attempt)}
      at={at}
      title={`Attempt ${attempt.attempt}`}
      note={
        <>
          to <DestinationLink id={destinationId} />
          {attempt.replay && " · replay"}
        </>
      }
    >
      <AttemptDetails attempt={attempt} />
    </Step>
  );
}

function OutcomeStep({ at, outcome }: Extract<Moment, { kind: "outcome" }>) {
  return (
    <Step
      tone={STATES[outcome.state].tone}
      {...(outcome.state === "pending" || at === undefined ? {} : { at })}
      title={<StateBadge state={outcome.state} />}
      note={<DestinationLink id={outcome.destinationId} />}
    >
      <p className="small soft">
        {visibleText(outcome.reason, 500)}
        {outcome.nextAttemptAt && (
          <>
            {" "}
            · next attempt <Time at={outcome.nextAttemptAt} />
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
