import type { CollectorInfo, DestinationStatusView, DestinationView } from "@sluice/protocol";
import { Icon } from "../../ui/icon.js";
import { HealthAlert } from "../destinations/health/health-alert.js";

/** What needs somebody: the disk, destinations at which nothing arrives or that are off. Nothing when all is well. */
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
        return (
          status && <HealthAlert key={destination.id} isLinked destination={destination} status={status} />
        );
      })}
    </div>
  );
}
