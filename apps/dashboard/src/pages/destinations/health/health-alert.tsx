import type { DestinationStatusView, DestinationView } from "@sluice/control-api";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { addresses } from "../../../routing/addresses.js";
import { Time } from "../../../ui/data/time.js";
import { Icon, type IconName } from "../../../ui/icon.js";
import { counted } from "../../../words/numbers.js";
import type { Tone } from "../../../words/states.js";
import { visibleText } from "../../../words/visible-text.js";
import { EnableUrls } from "./enable-urls.js";

/** What is wrong with a destination and what to do about it. Nothing if it is healthy. */
export function HealthAlert({
  destination,
  status,
  isLinked = false,
}: {
  destination: DestinationView;
  status: DestinationStatusView;
  /** Links the name to the destination: on pages with several destinations. */
  isLinked?: boolean;
}) {
  const { health, disabledUrls = [] } = status;
  const name = isLinked ? (
    <Link href={addresses.destination(destination.id)}>{destination.name}</Link>
  ) : (
    "This destination"
  );
  return (
    <>
      {health === "disabled" && (
        <Alert tone="quiet" icon="pause">
          <p>
            {name} is disabled: messages of its sources are skipped.
            {status.retries > 0 && ` ${counted(status.retries, "earlier message")} in the backlog.`}
          </p>
        </Alert>
      )}
      {health === "backing_off" && (
        <Alert tone="bad">
          <BackingOff status={status} name={name} />
        </Alert>
      )}
      {health === "failing" && (
        <Alert tone="bad">
          <Failing destination={destination} status={status} name={name} />
        </Alert>
      )}
      {health !== "disabled" && disabledUrls.length > 0 && (
        <Alert tone={health === "url_disabled" ? "bad" : "wait"}>
          <UrlDisabled destination={destination} status={status} name={name} />
        </Alert>
      )}
    </>
  );
}

function Alert({ tone, icon = "alert", children }: { tone: Tone; icon?: IconName; children: ReactNode }) {
  return (
    <div className={`alert tone-${tone}`}>
      <Icon name={icon} />
      {children}
    </div>
  );
}

interface AlertParts {
  readonly destination: DestinationView;
  readonly status: DestinationStatusView;
  readonly name: ReactNode;
}

function UrlDisabled({ destination, status: { health, disabledUrls = [] }, name }: AlertParts) {
  const urls = <span className="mono">{disabledUrls.map((url) => visibleText(url, 200)).join(", ")}</span>;
  const isOne = disabledUrls.length === 1;
  return (
    <div className="row-apart grow">
      {health === "url_disabled" ? (
        <p className="grow">
          {name} answered 410 Gone, so {isOne ? "its URL is" : "its URLs are"} <strong>disabled</strong> and
          nothing is sent to {urls}. When the receiver works again, enable {isOne ? "it" : "them"} and replay
          the failed messages. <FailedLink id={destination.id} />
        </p>
      ) : (
        <p className="grow">
          {isOne ? "A URL" : "Some URLs"} of {name} answered 410 Gone and {isOne ? "is" : "are"}{" "}
          <strong>disabled</strong>: {urls}. Messages are sent to the other URLs only.
        </p>
      )}
      <EnableUrls destination={destination} />
    </div>
  );
}

function BackingOff({ status, name }: Omit<AlertParts, "destination">) {
  return (
    <p>
      {name} does not accept messages. The backlog is up to {counted(status.waiting, "message")}; none are
      lost.
      {status.nextAttemptAt && (
        <>
          {" "}
          Next attempt <Time at={status.nextAttemptAt} />.
        </>
      )}
      {status.lastError && <span className="soft"> {visibleText(status.lastError, 200)}</span>}
    </p>
  );
}

function Failing({ destination, status: { failingSince, lastError, retries }, name }: AlertParts) {
  return (
    <p>
      {name} is failing
      {failingSince && (
        <>
          , first <Time at={failingSince} />
        </>
      )}
      {lastError && <>: {visibleText(lastError, 200)}</>}.
      {retries > 0 && ` ${counted(retries, "message")} will be retried for up to four hours.`} Once it is
      fixed, send a test, then replay the failed messages. <FailedLink id={destination.id} />
    </p>
  );
}

function FailedLink({ id }: { id: string }) {
  return <Link href={addresses.deliveries({ destination: id, state: "failed" })}>Failed deliveries</Link>;
}
