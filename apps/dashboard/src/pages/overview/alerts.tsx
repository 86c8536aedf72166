import type { CollectorInfo, DestinationStatusView, DestinationView } from "@sluice/control-api";
import { Link } from "wouter";
import { addresses } from "../../routing/addresses.js";
import { Time } from "../../ui/data/time.js";
import { Icon } from "../../ui/icon.js";
import { healthWords, needsAttention } from "../../words/health.js";
import { counted } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";

interface DestinationAlert {
  readonly destination: DestinationView;
  readonly status: DestinationStatusView;
}

/** Alerts that are shown without unfolding the others. */
const SHOWN = 3;

/** Problems of the disk and of destinations, one line each, the worst first. Nothing if there are none. */
export function Alerts({
  destinations,
  statuses,
  storage,
}: {
  destinations: readonly DestinationView[];
  statuses: readonly DestinationStatusView[];
  storage: CollectorInfo["storage"] | undefined;
}) {
  const alerts = alertsOf(destinations, statuses);
  const folded = alerts.slice(SHOWN);
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
      {alerts.slice(0, SHOWN).map((alert) => (
        <AlertLine key={alert.destination.id} {...alert} />
      ))}
      {folded.length > 0 && (
        <details className="more">
          <summary>{foldedWords(folded)}</summary>
          <div className="alerts">
            {folded.map((alert) => (
              <AlertLine key={alert.destination.id} {...alert} />
            ))}
          </div>
        </details>
      )}
    </div>
  );
}

/** `3 more destinations need attention, 14 disabled`: those disabled on purpose need none. */
function foldedWords(folded: readonly DestinationAlert[]): string {
  const failing = folded.filter(({ status }) => needsAttention(status.health)).length;
  const disabled = folded.length - failing;
  const needs = `${failing} more ${failing === 1 ? "destination needs" : "destinations need"} attention`;
  if (failing === 0) return counted(disabled, "disabled destination");
  return disabled === 0 ? needs : `${needs}, ${disabled} disabled`;
}

/** The page of the destination says what to do. */
function AlertLine({ destination, status }: DestinationAlert) {
  const { health, reason, since } = status;
  const { label, tone } = healthWords(health);
  return (
    <div className={`alert alert-line tone-${tone}`}>
      <Icon name={health === "disabled" ? "pause" : "alert"} />
      <p className="grow" title={visibleText(reason, 500)}>
        <Link href={addresses.destination(destination.id)}>{destination.name}</Link>: {label}.{" "}
        <span className="soft">{visibleText(reason, 300)}</span>
      </p>
      {since && <Time at={since} />}
    </div>
  );
}

const ORDER = ["bad", "wait", "quiet", "good"] as const;

/** Destinations that fail, are behind or are disabled: the worst first, then as in the list. */
function alertsOf(
  destinations: readonly DestinationView[],
  statuses: readonly DestinationStatusView[],
): readonly DestinationAlert[] {
  const rank = ({ status }: DestinationAlert): number =>
    (ORDER as readonly string[]).indexOf(healthWords(status.health).tone);
  return destinations
    .flatMap((destination) => {
      const status = statuses.find((one) => one.destinationId === destination.id);
      const isShown = status !== undefined && (status.health === "disabled" || needsAttention(status.health));
      return isShown ? [{ destination, status }] : [];
    })
    .toSorted((a, b) => rank(a) - rank(b));
}
