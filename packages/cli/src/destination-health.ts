import type { AdminClient } from "@sluice/admin-client";
import type {
  DeliveryView,
  DestinationHealthView,
  DestinationStatusView,
  DestinationView,
} from "@sluice/protocol";
import { webhooksOf } from "./destination-settings.js";

/** How a destination does, with what its newest deliveries say beside what its status says. */
export interface DestinationHealth extends Omit<DestinationStatusView, "state" | "health"> {
  /**
   * `failing`: what was tried last was not delivered, though the destination is still tried at full speed;
   * `url_disabled`: a URL answered 410 and is not called any more.
   */
  readonly state: DestinationStatusView["state"] | "failing" | "url_disabled";
  readonly disabledUrls: readonly string[];
}

/** Looks no further back than so many deliveries. */
const MOST_DELIVERIES = 100;

export async function readHealth(
  client: AdminClient,
  destination: DestinationView,
): Promise<DestinationHealth> {
  const { id: destinationId } = destination;
  const [status, troubled, delivered] = await Promise.all([
    client.destinations.status(destinationId),
    client.deliveries.list({ destinationId, limit: MOST_DELIVERIES }),
    client.deliveries.list({ destinationId, state: "delivered", limit: MOST_DELIVERIES }),
  ]);
  return judgeHealth(destination, status, [...troubled.items, ...delivered.items]);
}

/** Of a status and the newest deliveries, in any order. */
export function judgeHealth(
  { settings }: Pick<DestinationView, "settings">,
  { state, health, lastError, nextAttemptAt, ...status }: DestinationStatusView,
  deliveries: readonly DeliveryView[],
): DestinationHealth {
  const disabledUrls = webhooksOf(settings).flatMap(({ url, disabled }) => (disabled ? [url] : []));
  // What is queued and was never tried says nothing about the destination.
  const tried = deliveries.filter(({ attempts }) => attempts > 0);
  const lastTrouble = newest(tried.filter((one) => one.state === "failed" || one.state === "pending"));
  const lastDelivered = newest(tried.filter((one) => one.state === "delivered"));
  const isFailing =
    lastTrouble !== undefined && (lastDelivered === undefined || lastDelivered.at < lastTrouble.at);
  const next =
    nextAttemptAt ??
    tried.flatMap((one) => (one.nextAttemptAt === undefined ? [] : [one.nextAttemptAt])).sort()[0];
  const error = lastError ?? (isFailing ? lastTrouble.reason : undefined);
  return {
    ...status,
    state: health === undefined ? judgeState(state, disabledUrls.length > 0, isFailing) : wordOf(health),
    disabledUrls,
    ...(next === undefined ? {} : { nextAttemptAt: next }),
    ...(error === undefined ? {} : { lastError: error }),
  };
}

/** What the collector judged, as every page and alert shows it. */
function wordOf(health: DestinationHealthView): DestinationHealth["state"] {
  return health === "good" || health === "idle" ? "delivering" : health;
}

/** For a collector of an earlier version, whose status does not judge. */
function judgeState(
  state: DestinationStatusView["state"],
  hasDisabledUrl: boolean,
  isFailing: boolean,
): DestinationHealth["state"] {
  if (state === "disabled") return state;
  if (hasDisabledUrl) return "url_disabled";
  return state === "delivering" && isFailing ? "failing" : state;
}

/** The state for people. */
export function healthWord(state: DestinationHealth["state"]): string {
  return state.replace("_", " ");
}

function newest(deliveries: readonly DeliveryView[]): DeliveryView | undefined {
  return deliveries.reduce<DeliveryView | undefined>(
    (latest, one) => (latest === undefined || one.at > latest.at ? one : latest),
    undefined,
  );
}
