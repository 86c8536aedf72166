import type { AttemptView, MessageView } from "@sluice/protocol";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { StateBadge } from "../../ui/data/badge.js";
import { Time } from "../../ui/data/time.js";
import { counted, duration } from "../../words/numbers.js";
import { STATES, type Tone } from "../../words/states.js";
import { clockTime, exactTime } from "../../words/times.js";
import { visibleText } from "../../words/visible-text.js";
import { SourceLink } from "../sources/source-link.js";
import { IssueList } from "./issue-list.js";
import { attemptTone, type Moment, timelineOf } from "./timeline.js";

/** What happened to a message, from the client's clock to the last answer. */
export function Timeline({ view }: { view: MessageView }) {
  const moments = timelineOf(view);
  return (
    <ol className="timeline" aria-label="Timeline, oldest first">
      {moments.map((moment, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the past does not change its order
        <MomentView key={index} moment={moment} />
      ))}
    </ol>
  );
}

function MomentView({ moment }: { moment: Moment }) {
  const names = useNames();
  switch (moment.kind) {
    case "sent":
      return <Step tone="quiet" at={moment.at} title="Happened" note="by the sender's own clock" />;
    case "received":
      return (
        <Step
          tone="accent"
          at={moment.at}
          title="Received"
          note={
            <>
              from <SourceLink id={moment.sourceId} />
            </>
          }
        />
      );
    case "rejected":
      return (
        <Step tone="bad" at={moment.at} title="Rejected" note="it is in no log and goes nowhere">
          <IssueList issues={moment.issues} />
        </Step>
      );
    case "stored":
      return (
        <Step
          tone="good"
          at={moment.at}
          title="Accepted"
          note={
            moment.destinations === 0
              ? "on disk; no destination is connected"
              : `on disk before the sender was told 200; ${counted(moment.destinations, "destination")}`
          }
        />
      );
    case "attempt":
      return (
        <Step
          tone={attemptTone(moment.attempt)}
          at={moment.at}
          title={`Attempt ${moment.attempt.attempt}`}
          note={
            <>
              to{" "}
              <Link href={addresses.destination(moment.destinationId)}>
                {names.destination(moment.destinationId)}
              </Link>
              {moment.attempt.replay && " · replay"}
            </>
          }
        >
          <AttemptDetails attempt={moment.attempt} />
        </Step>
      );
    case "outcome": {
      const { outcome } = moment;
      return (
        <Step
          tone={STATES[outcome.state].tone}
          {...(outcome.state === "pending" || moment.at === undefined ? {} : { at: moment.at })}
          title={<StateBadge state={outcome.state} />}
          note={
            <Link href={addresses.destination(outcome.destinationId)}>
              {names.destination(outcome.destinationId)}
            </Link>
          }
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
    default:
      return moment satisfies never;
  }
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

/** The exchange itself: where to, the answer, and on demand the request's headers and the answer's body. */
export function AttemptDetails({ attempt }: { attempt: AttemptView }) {
  const headers = Object.entries(attempt.requestHeaders ?? {});
  return (
    <div className="attempt">
      <p className="attempt-head small">
        <span className={`badge tone-${attemptTone(attempt)}`}>
          {attempt.status ?? attempt.error?.code ?? "done"}
        </span>
        <span className="number">{duration(attempt.latencyMs)}</span>
        <span className="mono soft">{visibleText(attempt.url, 300)}</span>
        {attempt.address && <span className="faint">at {attempt.address}</span>}
      </p>
      {attempt.error && <p className="small">{visibleText(attempt.error.message, 500)}</p>}
      {(headers.length > 0 || attempt.response) && (
        <details className="more">
          <summary>Request and response</summary>
          {headers.length > 0 && (
            <>
              <h4>Request headers</h4>
              <pre className="code-text code-wrap">
                {headers.map(([name, value]) => `${visibleText(name)}: ${visibleText(value)}`).join("\n")}
              </pre>
            </>
          )}
          <h4>Response body{attempt.response ? ", its first 4 KB" : ""}</h4>
          {attempt.response ? (
            <pre className="code-text code-wrap">{visibleText(attempt.response, 4_096)}</pre>
          ) : (
            <p className="small faint">Empty.</p>
          )}
        </details>
      )}
    </div>
  );
}
