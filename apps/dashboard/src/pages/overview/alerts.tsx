import type { CollectorInfo, DestinationView } from "@sluice/protocol";
import { useDestinationStatus } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Link } from "../../routing/link.js";
import { Icon } from "../../ui/icon.js";
import { Time } from "../../ui/time.js";
import { counted } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";

/** What needs somebody: the disk, destinations that fail, destinations that are off. Nothing when all is well. */
export function Alerts({
  destinations,
  storage,
}: {
  destinations: readonly DestinationView[];
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
      {destinations.map((destination) => (
        <DestinationAlert key={destination.id} destination={destination} />
      ))}
    </div>
  );
}

function DestinationAlert({ destination }: { destination: DestinationView }) {
  const { data } = useDestinationStatus(destination.id);
  if (data === undefined || data.state === "delivering") return null;
  const name = <Link href={addresses.destination(destination.id)}>{destination.name}</Link>;
  if (data.state === "disabled") {
    return (
      <div className="alert tone-quiet">
        <Icon name="pause" />
        <p>
          {name} is disabled: messages of its sources are skipped.
          {data.retries > 0 && ` ${counted(data.retries, "message")} from before wait for it.`}
        </p>
      </div>
    );
  }
  return (
    <div className="alert tone-bad">
      <Icon name="alert" />
      <p>
        {name} does not take messages; {counted(data.behind + data.retries, "message")} wait and nothing is
        lost.
        {data.nextAttemptAt && (
          <>
            {" "}
            Next attempt <Time at={data.nextAttemptAt} />.
          </>
        )}
        {data.lastError && <span className="soft"> {visibleText(data.lastError, 200)}</span>}
      </p>
    </div>
  );
}
