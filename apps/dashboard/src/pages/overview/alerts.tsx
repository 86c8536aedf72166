import type { CollectorInfo, DestinationStatusView, DestinationView } from "@sluice/protocol";
import { addresses } from "../../routing/addresses.js";
import { Link } from "../../routing/link.js";
import { Icon } from "../../ui/icon.js";
import { Time } from "../../ui/time.js";
import { counted } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";

/** What needs somebody: the disk, destinations that fail, destinations that are off. Nothing when all is well. */
export function Alerts({
  destinations,
  statuses,
  storage,
}: {
  destinations: readonly DestinationView[];
  statuses: readonly DestinationStatusView[];
  storage: CollectorInfo["storage"] | undefined;
}) {
  return (
    <div className="alerts">
      {storage?.kind === "unavailable" && (
        <div className="alert tone-bad" role="alert">
          <Icon name="alert" />
          <p>
            <strong>The disk cannot be written.</strong> Messages are answered 503 and come again by
            themselves: {storage.reason}
          </p>
        </div>
      )}
      {destinations.map((destination) => {
        const status = statuses.find((one) => one.destinationId === destination.id);
        if (status === undefined || status.state === "delivering") return null;
        return <DestinationAlert key={destination.id} destination={destination} status={status} />;
      })}
    </div>
  );
}

function DestinationAlert({
  destination,
  status,
}: {
  destination: DestinationView;
  status: DestinationStatusView;
}) {
  const name = <Link href={addresses.destination(destination.id)}>{destination.name}</Link>;
  if (status.state === "disabled") {
    return (
      <div className="alert tone-quiet">
        <Icon name="pause" />
        <p>
          {name} is disabled: messages of its sources are skipped.
          {status.retries > 0 && ` ${counted(status.retries, "message")} from before wait for it.`}
        </p>
      </div>
    );
  }
  return (
    <div className="alert tone-bad">
      <Icon name="alert" />
      <p>
        {name} does not take messages; {counted(status.behind + status.retries, "message")} wait and nothing
        is lost.
        {status.nextAttemptAt && (
          <>
            {" "}
            Next attempt <Time at={status.nextAttemptAt} />.
          </>
        )}
        {status.lastError && <span className="soft"> {visibleText(status.lastError, 200)}</span>}
      </p>
    </div>
  );
}
