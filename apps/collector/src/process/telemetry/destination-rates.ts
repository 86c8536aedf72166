import type { DestinationRatesView, RateSpan } from "@sluice/control-api";
import { type ConfigStore, DOCUMENT_KINDS, mirrorDocuments } from "@sluice/event-log";
import type { CancelTimer, Clock } from "@sluice/resilience";
import type { DeliveryCountName, DeliveryCounts } from "./delivery-counts.js";
import {
  isSilent,
  type KeptPoints,
  RATE_SPANS,
  type RateSeries,
  type Reading,
  rateSeries,
} from "./rate-series.js";

/** Destinations with a history, the oldest ones: a history takes about 120 KB of memory. */
export const MOST_DESTINATIONS = 100;
/** Interval at which the counters are read: the resolution of the finest span. */
const READ_EVERY_MS = RATE_SPANS["5m"].everyMs;
/**
 * A history is stored this often while anything happens, as a document of its own of at most 100 KB. One destination is stored per
 * reading, so with more than 30 busy destinations it takes longer.
 */
const STORE_EVERY_MS = 60_000;
const KIND = "destination_rates";

/** Each destination's rates over the last minutes, hour and day. */
export interface DestinationRates {
  read(destinationId: string, span: RateSpan): DestinationRatesView;
  /** Resolves when the histories are stored for the next start. */
  close(): Promise<void>;
}

interface History {
  readonly series: RateSeries<DeliveryCountName>;
  /** The reading that was last stored, or the first one. */
  stored: Reading<DeliveryCountName>;
}

/** Continues the stored histories, and reads the counts now and regularly until it is closed. */
export async function startDestinationRates(
  counts: Pick<DeliveryCounts, "read" | "forget">,
  clock: Clock,
  config: ConfigStore,
): Promise<DestinationRates> {
  const histories = new Map<string, History>();
  const destinations = await mirrorDocuments(config, DOCUMENT_KINDS.destination, async (id, document) => {
    if (document !== undefined) return;
    histories.delete(id);
    counts.forget(id);
    await config.delete(KIND, id);
  });
  const readingOf = (id: string): Reading<DeliveryCountName> => ({
    atMs: clock.now(),
    monotonicMs: clock.monotonic(),
    ...counts.read(id),
  });
  const begin = async (id: string): Promise<void> => {
    const kept = (await config.get<KeptPoints<DeliveryCountName>>(KIND, id))?.value;
    const first = readingOf(id);
    histories.set(id, { series: rateSeries(first, kept), stored: first });
  };
  const withHistory = (): readonly string[] =>
    Array.from(destinations.entries(), ({ id }) => id).slice(0, MOST_DESTINATIONS);
  await Promise.all(withHistory().map(begin));

  const store = async (id: string, history: History, reading: Reading<DeliveryCountName>): Promise<void> => {
    history.stored = reading;
    // Others report that the store cannot be written. The next write includes these points.
    await config.put(KIND, id, history.series.toKeep(reading)).catch(() => {});
  };
  let writing: Promise<unknown> = Promise.resolve();
  const tick = (): void => {
    let due: readonly [id: string, history: History, reading: Reading<DeliveryCountName>] | undefined;
    for (const id of withHistory()) {
      const reading = readingOf(id);
      // A new destination has nothing stored.
      const history = histories.get(id) ?? { series: rateSeries(reading, undefined), stored: reading };
      histories.set(id, history);
      history.series.take(reading);
      const isDue = reading.monotonicMs - history.stored.monotonicMs >= STORE_EVERY_MS;
      const isEarlier = due === undefined || history.stored.monotonicMs < due[1].stored.monotonicMs;
      if (isDue && isEarlier && !isSilent(history.stored, reading)) due = [id, history, reading];
    }
    if (due !== undefined) writing = store(...due);
    cancel = clock.after(READ_EVERY_MS, tick);
  };
  let cancel: CancelTimer = clock.after(READ_EVERY_MS, tick);
  return {
    read(id, span) {
      const points = histories.get(id)?.series.points(span) ?? [];
      return { everyMs: RATE_SPANS[span].everyMs, kept: withHistory().includes(id), points: [...points] };
    },
    async close() {
      cancel();
      destinations.close();
      await writing;
      await Promise.all(
        [...histories].map(([id, history]) => {
          const reading = readingOf(id);
          history.series.take(reading);
          return store(id, history, reading);
        }),
      );
    },
  };
}
