import type { DestinationStatusView, DestinationView } from "@sluice/protocol";
import type { ReactNode } from "react";
import { addresses } from "../../routing/addresses.js";
import { Link } from "../../routing/link.js";
import { Icon } from "../../ui/icon.js";
import { Time } from "../../ui/time.js";
import { HEALTH, healthOf, remedyOf } from "../../words/health.js";
import { counted } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";
import { SaveAgain } from "./save-again.js";

/** Why nothing arrives at a destination, and what to do about it; nothing while all is well. */
export function HealthAlert({
  destination,
  status,
  isLinked = false,
}: {
  destination: DestinationView;
  status: DestinationStatusView;
  /** On pages of several destinations its name leads to its own. */
  isLinked?: boolean;
}) {
  const health = healthOf(status);
  if (health === "good" || health === "idle") return null;
  const name = isLinked ? <Link href={addresses.destination(destination.id)}>{destination.name}</Link> : "It";
  return (
    <div className={`alert tone-${HEALTH[health].tone}`}>
      <Icon name={health === "disabled" ? "pause" : "alert"} />
      {health === "disabled" ? (
        <p>
          {name} is disabled: messages of its sources are skipped.
          {status.retries > 0 && ` ${counted(status.retries, "message")} from before wait for it.`}
        </p>
      ) : health === "url_disabled" ? (
        <UrlDisabled destination={destination} status={status} name={name} />
      ) : health === "backing_off" ? (
        <BackingOff status={status} name={name} />
      ) : (
        <Failing destination={destination} status={status} name={name} />
      )}
    </div>
  );
}

interface AlertParts {
  readonly destination: DestinationView;
  readonly status: DestinationStatusView;
  readonly name: ReactNode;
}

function UrlDisabled({ destination, status: { disabledUrls = [] }, name }: AlertParts) {
  const isOne = disabledUrls.length < 2;
  return (
    <div className="row-apart grow">
      <p className="grow">
        {name} answered 410 Gone: {isOne ? "its URL is" : "its URLs are"}{" "}
        <strong>disabled until saved</strong>, and nothing is sent to{" "}
        <span className="mono">{disabledUrls.map((url) => visibleText(url, 200)).join(", ")}</span>. When the
        receiver is back, save and replay what failed. <FailedLink id={destination.id} />
      </p>
      <SaveAgain destination={destination} />
    </div>
  );
}

function BackingOff({ status, name }: Omit<AlertParts, "destination">) {
  return (
    <p>
      {name} does not take messages; {counted(status.waiting, "message")} wait and nothing is lost.
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
      {lastError && <>: {visibleText(lastError, 200)}</>}. {remedyOf(lastError)}
      {retries > 0 && ` ${counted(retries, "message")} will be tried again, for up to four hours.`} Once it is
      mended, send a test; what failed for good is sent again by a replay only.{" "}
      <FailedLink id={destination.id} />
    </p>
  );
}

function FailedLink({ id }: { id: string }) {
  return <Link href={addresses.deliveries({ destination: id, state: "failed" })}>What failed</Link>;
}
