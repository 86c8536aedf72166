import type { CollectorInfo, DestinationStatusView, DestinationView } from "@sluice/control-api";
import { Icon } from "../../ui/icon.js";
import { HealthAlert } from "../destinations/health/health-alert.js";

/** Problems of the disk and of destinations. Nothing if there are none. */
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
            <strong>The collector cannot write to its disk.</strong> Senders get 503 and retry:{" "}
            {storage.reason}
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
