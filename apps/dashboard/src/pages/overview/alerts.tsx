import type { CollectorInfo, DeliveryView, DestinationStatusView, DestinationView } from "@sluice/protocol";
import type { Totals } from "../../api/metrics.js";
import { addresses } from "../../routing/addresses.js";
import { Link } from "../../routing/link.js";
import { Icon } from "../../ui/icon.js";
import { Time, useNow } from "../../ui/time.js";
import { counted } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";

/** A message that was given up is a matter for this long; it stays in the list of deliveries. */
const RECENT_MS = 15 * 60_000;

/** What needs somebody: the disk, destinations that are down, refuse messages or are off. Nothing when all is well. */
export function Alerts({
  destinations,
  statuses,
  lastFailures,
  totals,
  storage,
}: {
  destinations: readonly DestinationView[];
  statuses: readonly DestinationStatusView[];
  lastFailures: readonly DeliveryView[];
  totals: Totals | undefined;
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
        if (status === undefined) return null;
        if (status.state !== "delivering")
          return <DestinationAlert key={destination.id} destination={destination} status={status} />;
        const last = lastFailures.find((one) => one.destinationId === destination.id);
        const failed = totals?.deliveries.get(destination.id)?.get("failed") ?? 0;
        return last === undefined || failed === 0 ? null : (
          <RefusalAlert key={destination.id} destination={destination} last={last} failed={failed} />
        );
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
        {name} does not take messages; {counted(status.waiting, "message")} wait and nothing is lost.
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

/** It answers, but refuses: nothing waits, and what was given up comes back only by a replay. */
function RefusalAlert({
  destination,
  last,
  failed,
}: {
  destination: DestinationView;
  last: DeliveryView;
  failed: number;
}) {
  const nowMs = useNow();
  if (nowMs - Date.parse(last.at) > RECENT_MS) return null;
  return (
    <div className="alert tone-bad">
      <Icon name="alert" />
      <p>
        <Link href={addresses.destination(destination.id)}>{destination.name}</Link> refused{" "}
        <Link href={addresses.deliveries({ destination: destination.id, state: "failed" })}>
          {counted(failed, "message")}
        </Link>{" "}
        since the collector's start, the last <Time at={last.at} />: {visibleText(last.reason, 200)}. They are
        not sent again unless you replay them.
      </p>
    </div>
  );
}
