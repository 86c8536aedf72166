import type { CancelTimer, Clock } from "@sluice/resilience";
import type { Metrics } from "./metrics.js";

/** How far back the counts go. */
const SPAN_MS = 3_600_000;
const SNAPSHOT_EVERY_MS = 60_000;
/** Resolution of the times of last messages. */
const READ_EVERY_MS = 5_000;

export interface SourceActivity {
  readonly accepted: number;
  /** Wall-clock time, to about five seconds. Undefined: nothing since the collector's start. */
  readonly lastMs: number | undefined;
}

export interface DestinationActivity {
  readonly delivered: number;
  readonly failed: number;
  /** Failed rounds that are retried. */
  readonly retried: number;
  /** Of the last delivery that succeeded. */
  readonly lastMs: number | undefined;
}

/** Requests that were refused whole, by code of the error. */
export interface RefusedActivity {
  readonly code: string;
  readonly requests: number;
  readonly lastMs: number | undefined;
}

/** What each source sent and each destination received in the last hour, or since the start if that is shorter. */
export interface Activity {
  read(): Promise<{
    readonly overMs: number;
    source(id: string): SourceActivity;
    destination(id: string): DestinationActivity;
    /** The codes of which there were any, the most first. */
    readonly refused: readonly RefusedActivity[];
  }>;
  close(): Promise<void>;
}

const REFUSED = "refused ";

/** Counters by name of the thing and what it counts: `accepted src_1`. */
type Counts = ReadonlyMap<string, number>;

interface Snapshot {
  readonly monotonicMs: number;
  readonly counts: Counts;
}

/** Reads the counters regularly until it is closed. */
export async function startActivity(metrics: Pick<Metrics, "read">, clock: Clock): Promise<Activity> {
  const take = async (): Promise<Snapshot> => ({
    monotonicMs: clock.monotonic(),
    counts: await readCounts(metrics),
  });
  /** Oldest first, one a minute. */
  let kept: readonly Snapshot[] = [await take()];
  let latest = kept[0] as Snapshot;
  const lastMs = new Map<string, number>();
  const look = async (): Promise<Snapshot> => {
    const now = await take();
    for (const [name, value] of now.counts)
      if (value > (latest.counts.get(name) ?? 0)) lastMs.set(name, clock.now());
    latest = now;
    kept = keptSnapshots(kept, now);
    return now;
  };
  let reading: Promise<unknown> = Promise.resolve();
  const tick = (): void => {
    reading = look();
    cancel = clock.after(READ_EVERY_MS, tick);
  };
  let cancel: CancelTimer = clock.after(READ_EVERY_MS, tick);
  return {
    async read() {
      const now = await look();
      const first = kept[0] ?? now;
      const grown = (name: string): number => (now.counts.get(name) ?? 0) - (first.counts.get(name) ?? 0);
      return {
        overMs: now.monotonicMs - first.monotonicMs,
        source: (id) => ({ accepted: grown(`accepted ${id}`), lastMs: lastMs.get(`accepted ${id}`) }),
        destination: (id) => ({
          delivered: grown(`delivered ${id}`),
          failed: grown(`failed ${id}`),
          retried: grown(`retried ${id}`),
          lastMs: lastMs.get(`delivered ${id}`),
        }),
        refused: [...now.counts.keys()]
          .filter((name) => name.startsWith(REFUSED) && grown(name) > 0)
          .map((name) => ({
            code: name.slice(REFUSED.length),
            requests: grown(name),
            lastMs: lastMs.get(name),
          }))
          .sort((a, b) => b.requests - a.requests),
      };
    },
    async close() {
      cancel();
      await reading;
    },
  };
}

/** Adds a snapshot if the newest is a minute old, and drops those that are older than the span. */
export function keptSnapshots<S extends { readonly monotonicMs: number }>(
  kept: readonly S[],
  now: S,
): readonly S[] {
  const newest = kept.at(-1);
  const isDue = newest === undefined || now.monotonicMs - newest.monotonicMs >= SNAPSHOT_EVERY_MS;
  return (isDue ? [...kept, now] : kept).filter(
    ({ monotonicMs }) => now.monotonicMs - monotonicMs <= SPAN_MS,
  );
}

async function readCounts(metrics: Pick<Metrics, "read">): Promise<Counts> {
  const [messages, deliveries, retries, refused] = await Promise.all([
    metrics.read("sluice_source_messages_total"),
    metrics.read("sluice_deliveries_total"),
    metrics.read("sluice_delivery_retries_total"),
    metrics.read("sluice_ingest_refused_requests_total"),
  ]);
  return new Map([
    ...refused.map(({ labels, value }) => [`${REFUSED}${labels.code}`, value] as const),
    ...messages.map(({ labels, value }) => [`accepted ${labels.source}`, value] as const),
    ...retries.map(({ labels, value }) => [`retried ${labels.destination}`, value] as const),
    ...deliveries.map(({ labels, value }) => [`${labels.state} ${labels.destination}`, value] as const),
  ]);
}
