import type { DestinationRatesView, RateSpan, RatesView } from "@sluice/control-api";
import { type ConfigStore, DOCUMENT_KINDS, mirrorDocuments } from "@sluice/event-log";
import type { CancelTimer, Clock } from "@sluice/resilience";
import type { DeliveryCountName, DeliveryCounts } from "../process/telemetry/delivery-counts.js";
import type { Metrics, Sample } from "../process/telemetry/metrics.js";
import {
  isSilent,
  type KeptPoints,
  RATE_SPANS,
  type RatePoint,
  type RateSeries,
  type Reading,
  rateSeries,
  type Spans,
} from "../process/telemetry/rate-series.js";

/** Destinations whose points are kept, the oldest ones: they take about 120 KB of memory each. */
export const MOST_DESTINATIONS = 100;
/** What is known of everything else: the last hour. */
const LAST_HOUR: Spans = { "1h": { everyMs: 60_000, points: 60 } };
const HOUR_MS = 3_600_000;
/** Interval at which the counters are read: the resolution of the finest span. */
const READ_EVERY_MS = RATE_SPANS["5m"].everyMs;
/**
 * Points are stored this often while anything happens, as a document of at most 100 KB for the collector and for each destination. One
 * destination is stored per reading, so with more than 30 busy ones it takes longer.
 */
const STORE_EVERY_MS = 60_000;
const KIND = "counters";
const COLLECTOR = "collector";
/** In the ids of documents: before the code of an error, and before the id of a source. */
const REFUSED = "refused:";
const SOURCE = "source:";

type Counted = "accepted" | "rejected" | DeliveryCountName;

/** Counts of the last hour, with what an earlier process counted in it. */
interface InLastHour<Name extends string> {
  readonly counts: Readonly<Record<Name, number>>;
  /** When it last happened, by the wall clock. Undefined: not that anybody knows. */
  readonly lastMs: number | undefined;
}

/** Everything that was counted in the last hour. */
export interface LastHour {
  /** An hour, or the time since counting began. */
  readonly overMs: number;
  source(id: string): InLastHour<"accepted">;
  destination(id: string): InLastHour<DeliveryCountName>;
  /** The codes of errors for which requests were refused whole, the most frequent first. */
  readonly refused: readonly ({ readonly code: string } & InLastHour<"requests">)[];
}

/** What is read: counters of the collector since its start. */
interface CountedFrom {
  readonly metrics: Pick<Metrics, "read">;
  readonly counts: Pick<DeliveryCounts, "read" | "latencies" | "forget">;
  readonly clock: Clock;
  readonly config: ConfigStore;
}

/** The collector's counters over time, which it reads regularly until it is closed. */
export class Counters {
  readonly #from: CountedFrom;
  readonly #startMs: number;
  readonly #collector: Track<Counted>;
  readonly #destinations = new Map<string, Track<DeliveryCountName>>();
  readonly #sources = new Map<string, Track<"accepted">>();
  readonly #refused = new Map<string, Track<"requests">>();
  readonly #known: MirroredDocuments;
  #now: AllReadings;
  /** Readings one after another, so that no older one is taken after a newer one. */
  #reading: Promise<void> = Promise.resolve();
  #writing: Promise<void> = Promise.resolve();
  #cancel: CancelTimer = () => {};

  private constructor(from: CountedFrom, known: MirroredDocuments, first: AllReadings, kept: Kept) {
    this.#from = from;
    this.#known = known;
    this.#now = first;
    this.#startMs = first.collector.monotonicMs;
    this.#collector = new Track(first.collector, RATE_SPANS, kept.get(COLLECTOR));
    const full = this.#withPoints();
    for (const [id, reading] of first.destinations)
      this.#destinations.set(id, new Track(reading, full.has(id) ? RATE_SPANS : LAST_HOUR, kept.get(id)));
    const { atMs, monotonicMs } = first.collector;
    const goOn = <Name extends string>(
      tracks: Map<string, Track<Name>>,
      readings: ReadonlyMap<string, Reading<Name>>,
      name: Name,
      prefix: string,
    ): void => {
      const none = { counts: { [name]: 0 } as Record<Name, number>, latency: [], atMs, monotonicMs };
      const before = [...kept.keys()]
        .filter((id) => id.startsWith(prefix))
        .map((id) => id.slice(prefix.length));
      for (const id of new Set([...before, ...readings.keys()]))
        tracks.set(id, new Track(readings.get(id) ?? none, LAST_HOUR, kept.get(prefix + id)));
    };
    goOn(this.#sources, first.sources, "accepted", SOURCE);
    goOn(this.#refused, first.refused, "requests", REFUSED);
    this.#begin();
  }

  /** Continues the stored points. */
  static async start(from: CountedFrom): Promise<Counters> {
    const { config, counts } = from;
    let started: Counters | undefined;
    const known = await mirrorDocuments(config, DOCUMENT_KINDS.destination, async (id, document) => {
      if (document !== undefined) return;
      if (started !== undefined) started.#destinations.delete(id);
      counts.forget(id);
      await config.delete(KIND, id);
    });
    const kept = new Map((await config.list<KeptTrack>(KIND)).map(({ id, value }) => [id, value]));
    const sources = new Set((await config.list(DOCUMENT_KINDS.source)).map(({ id }) => SOURCE + id));
    for (const id of kept.keys()) {
      if (!id.startsWith(SOURCE) || sources.has(id)) continue;
      kept.delete(id);
      await config.delete(KIND, id);
    }
    const ids = Array.from(known.entries(), ({ id }) => id);
    started = new Counters(from, known, await readAll(from, ids), kept);
    return started;
  }

  async lastHour(): Promise<LastHour> {
    await this.#look();
    const { atMs, monotonicMs } = this.#now.collector;
    const earlierMs = this.#collector.earlierSince(atMs);
    return {
      overMs: Math.min(HOUR_MS, Math.max(monotonicMs - this.#startMs, atMs - (earlierMs ?? atMs))),
      source: (id) => this.#sources.get(id)?.lastHour(atMs) ?? { counts: { accepted: 0 }, lastMs: undefined },
      destination: (id) =>
        this.#destinations.get(id)?.lastHour(atMs) ?? { counts: NO_DELIVERIES, lastMs: undefined },
      refused: [...this.#refused]
        .map(([code, track]) => ({ code, ...track.lastHour(atMs) }))
        .filter((one) => one.counts.requests > 0)
        .sort((a, b) => b.counts.requests - a.counts.requests),
    };
  }

  rates(span: RateSpan): RatesView {
    return { everyMs: RATE_SPANS[span].everyMs, points: [...this.#collector.series.points(span)] };
  }

  destinationRates(id: string, span: RateSpan): DestinationRatesView {
    const kept = this.#withPoints().has(id);
    const points = kept ? this.#destinations.get(id)?.series.points(span) : undefined;
    return { everyMs: RATE_SPANS[span].everyMs, kept, points: [...(points ?? [])] };
  }

  /** Resolves when the points are stored for the next start. */
  async close(): Promise<void> {
    this.#cancel();
    await this.#look();
    this.#known.close();
    await this.#writing;
    await Promise.all([
      this.#store(COLLECTOR, this.#collector),
      ...this.#stored().map(([id, track]) => this.#store(id, track)),
    ]);
  }

  #begin(): void {
    this.#cancel = this.#from.clock.after(READ_EVERY_MS, () => {
      void this.#look().then(() => {
        this.#writing = this.#storeDue();
      });
      this.#begin();
    });
  }

  #ids(): string[] {
    return Array.from(this.#known.entries(), ({ id }) => id);
  }

  #withPoints(): Set<string> {
    return new Set(this.#ids().slice(0, MOST_DESTINATIONS));
  }

  #look(): Promise<void> {
    this.#reading = this.#reading.then(async () => this.#take(await readAll(this.#from, this.#ids())));
    return this.#reading;
  }

  #take(next: AllReadings): void {
    const before = this.#now;
    this.#now = next;
    this.#collector.take(next.collector, "accepted");
    const full = this.#withPoints();
    for (const [id, reading] of next.destinations)
      takeInto(this.#destinations, id, reading, "delivered", full.has(id) ? RATE_SPANS : LAST_HOUR, before);
    for (const [id, reading] of next.sources)
      takeInto(this.#sources, id, reading, "accepted", LAST_HOUR, before);
    for (const [code, reading] of next.refused)
      takeInto(this.#refused, code, reading, "requests", LAST_HOUR, before);
  }

  async #storeDue(): Promise<void> {
    if (this.#collector.isDue()) await this.#store(COLLECTOR, this.#collector);
    const [first] = this.#stored()
      .filter(([, track]) => track.isDue())
      .sort(([, a], [, b]) => a.stored.monotonicMs - b.stored.monotonicMs);
    if (first !== undefined) await this.#store(...first);
  }

  /** What is stored beside the collector's own points. */
  #stored(): (readonly [id: string, track: AnyTrack])[] {
    return [
      ...this.#destinations,
      ...Array.from(this.#sources, ([id, track]) => [SOURCE + id, track] as const),
      ...Array.from(this.#refused, ([code, track]) => [REFUSED + code, track] as const),
    ];
  }

  async #store(id: string, track: AnyTrack): Promise<void> {
    track.stored = track.latest;
    // Others report that the store cannot be written. The next write includes these points.
    await this.#from.config.put(KIND, id, track.toKeep()).catch(() => {});
  }
}

type MirroredDocuments = Awaited<ReturnType<typeof mirrorDocuments>>;
/** Points, and when it last happened, as they are stored. */
type KeptTrack = KeptPoints<never> & { readonly lastMs?: number };
type Kept = ReadonlyMap<string, KeptTrack>;
type AnyTrack = Track<Counted> | Track<DeliveryCountName> | Track<"accepted"> | Track<"requests">;

const NO_DELIVERIES = { delivered: 0, failed: 0, retried: 0 };

/** The points of one thing, and when it last happened. */
class Track<Name extends string> {
  readonly spans: Spans;
  readonly series: RateSeries<Name>;
  latest: Reading<Name>;
  /** The reading that was last stored, or the first one. */
  stored: Reading<Name>;
  #lastMs: number | undefined;
  /** What an earlier process counted. */
  readonly #earlier: readonly RatePoint<Name>[];

  /** `kept`: of the same counts, as it was stored. */
  constructor(first: Reading<Name>, spans: Spans, kept?: KeptTrack) {
    this.spans = spans;
    this.#lastMs = kept?.lastMs;
    const ofName = kept as KeptPoints<Name> | undefined;
    this.#earlier = (ofName?.["1h"] ?? []).filter(({ at }) => Date.parse(at) <= first.atMs);
    this.series = rateSeries(first, ofName, spans);
    this.latest = first;
    this.stored = first;
  }

  /** `name`: the count that tells when it last happened. */
  take(reading: Reading<Name>, name: Name): void {
    if (reading.counts[name] > this.latest.counts[name]) this.#lastMs = reading.atMs;
    this.latest = reading;
    this.series.take(reading);
  }

  lastHour(nowMs: number): InLastHour<Name> {
    const counts: Record<Name, number> = { ...this.series.grown("1h", this.latest) };
    for (const point of this.#earlierIn(nowMs))
      for (const name of Object.keys(counts) as Name[]) counts[name] += point[name];
    return { counts, lastMs: this.#lastMs };
  }

  /** When an earlier process began to count in the last hour. Undefined: none did. */
  earlierSince(nowMs: number): number | undefined {
    const [first] = this.#earlierIn(nowMs);
    return first && Date.parse(first.at) - first.overMs;
  }

  #earlierIn(nowMs: number): readonly RatePoint<Name>[] {
    return this.#earlier.filter(({ at }) => Date.parse(at) > nowMs - HOUR_MS);
  }

  toKeep(): KeptTrack {
    const points: object = this.series.toKeep(this.latest);
    return { ...points, ...(this.#lastMs === undefined ? {} : { lastMs: this.#lastMs }) };
  }

  isDue(): boolean {
    const { latest, stored } = this;
    return latest.monotonicMs - stored.monotonicMs >= STORE_EVERY_MS && !isSilent(stored, latest);
  }
}

/** A thing that is new has counted since the reading before. */
function takeInto<Name extends string>(
  tracks: Map<string, Track<Name>>,
  id: string,
  reading: Reading<Name>,
  name: Name,
  spans: Spans,
  { collector: { atMs, monotonicMs } }: AllReadings,
): void {
  let track = tracks.get(id);
  if (track?.spans !== spans) {
    const none = Object.fromEntries(Object.keys(reading.counts).map((one) => [one, 0]));
    const first = { counts: none as Record<Name, number>, latency: [], atMs, monotonicMs };
    track = new Track(track?.latest ?? first, spans, track?.toKeep());
    tracks.set(id, track);
  }
  track.take(reading, name);
}

interface AllReadings {
  readonly collector: Reading<Counted>;
  readonly destinations: ReadonlyMap<string, Reading<DeliveryCountName>>;
  readonly sources: ReadonlyMap<string, Reading<"accepted">>;
  readonly refused: ReadonlyMap<string, Reading<"requests">>;
}

async function readAll(
  { metrics, counts, clock }: Omit<CountedFrom, "config">,
  destinationIds: readonly string[],
): Promise<AllReadings> {
  const [messages, deliveries, retries, bySource, refused] = await Promise.all([
    metrics.read("sluice_ingest_messages_total"),
    metrics.read("sluice_deliveries_total"),
    metrics.read("sluice_delivery_retries_total"),
    metrics.read("sluice_source_messages_total"),
    metrics.read("sluice_ingest_refused_requests_total"),
  ]);
  const at = { atMs: clock.now(), monotonicMs: clock.monotonic() };
  const readingsOf = <Name extends string>(samples: readonly Sample[], label: string, name: Name) =>
    new Map(
      samples.map(({ labels, value }) => [
        String(labels[label]),
        { ...at, counts: { [name]: value } as Record<Name, number>, latency: [] },
      ]),
    );
  return {
    collector: {
      ...at,
      counts: {
        accepted: sum(messages, "result", "accepted"),
        rejected: sum(messages, "result", "rejected"),
        delivered: sum(deliveries, "state", "delivered"),
        failed: sum(deliveries, "state", "failed"),
        retried: retries.reduce((all, { value }) => all + value, 0),
      },
      ...counts.latencies(),
    },
    destinations: new Map(destinationIds.map((id) => [id, { ...at, ...counts.read(id) }])),
    sources: readingsOf(bySource, "source", "accepted"),
    refused: readingsOf(refused, "code", "requests"),
  };
}

/** The sum of the samples whose label has this value. */
function sum(samples: readonly Sample[], label: string, value: string): number {
  return samples.reduce((total, sample) => total + (sample.labels[label] === value ? sample.value : 0), 0);
}
