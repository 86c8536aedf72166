/** What the dashboard reads off the collector's counters at one moment. All count since the collector's start. */
export interface MetricsSample {
  readonly atMs: number;
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: number;
  /** By destination id, then by state. */
  readonly deliveries: ReadonlyMap<string, ReadonlyMap<string, number>>;
  readonly retries: number;
  /** From receipt to delivery: how many took at most so many seconds, by ascending bound; the last is +Infinity. */
  readonly latency: readonly (readonly [upToSeconds: number, count: number])[];
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Reads the text that Prometheus scrapes; what it does not know it leaves. */
export function readMetrics(text: string, atMs: number): MetricsSample {
  const results = new Map<string, number>();
  const deliveries = new Map<string, Map<string, number>>();
  const latency: [number, number][] = [];
  let retries = 0;
  for (const line of text.split("\n")) {
    const [, name, labelText = "", valueText = ""] = LINE.exec(line) ?? [];
    if (name === undefined) continue;
    const value = Number(valueText);
    const labels = new Map(
      [...labelText.matchAll(LABEL)].map(([, key = "", text = ""]) => [key, unescaped(text)]),
    );
    switch (name) {
      case "sluice_ingest_messages_total":
        results.set(labels.get("result") ?? "", value);
        break;
      case "sluice_deliveries_total": {
        const id = labels.get("destination") ?? "";
        const states = deliveries.get(id) ?? new Map<string, number>();
        states.set(labels.get("state") ?? "", value);
        deliveries.set(id, states);
        break;
      }
      case "sluice_delivery_retries_total":
        retries += value;
        break;
      case "sluice_delivery_latency_seconds_bucket":
        latency.push([boundOf(labels.get("le")), value]);
        break;
    }
  }
  return {
    atMs,
    accepted: results.get("accepted") ?? 0,
    duplicates: results.get("duplicate") ?? 0,
    rejected: results.get("rejected") ?? 0,
    deliveries,
    retries,
    latency,
  };
}

function boundOf(le: string | undefined): number {
  return le === "+Inf" || le === undefined ? Number.POSITIVE_INFINITY : Number(le);
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
}

/** How many deliveries ended in one of the states, over all destinations. */
export function deliveriesIn(sample: MetricsSample, ...states: readonly string[]): number {
  let sum = 0;
  for (const counts of sample.deliveries.values()) for (const state of states) sum += counts.get(state) ?? 0;
  return sum;
}

/** How much a counter grew a second between two samples; undefined when the collector was started anew between them. */
export function rate(
  before: MetricsSample,
  after: MetricsSample,
  read: (sample: MetricsSample) => number,
): number | undefined {
  const seconds = (after.atMs - before.atMs) / 1_000;
  const grown = read(after) - read(before);
  return seconds <= 0 || grown < 0 ? undefined : grown / seconds;
}

/**
 * The latency in milliseconds that `share` of what was delivered between two samples stayed within, interpolated in
 * its bucket; undefined when nothing was delivered.
 */
export function latencyQuantile(
  before: MetricsSample,
  after: MetricsSample,
  share: number,
): number | undefined {
  const growth = after.latency.map(
    ([bound, count], index) => [bound, count - (before.latency[index]?.[1] ?? 0)] as const,
  );
  const total = growth.at(-1)?.[1] ?? 0;
  if (total <= 0) return undefined;
  const wanted = share * total;
  let [lowerBound, lowerCount] = [0, 0];
  for (const [bound, count] of growth) {
    if (count >= wanted) {
      if (bound === Number.POSITIVE_INFINITY) return lowerBound * 1_000;
      const within = count === lowerCount ? 1 : (wanted - lowerCount) / (count - lowerCount);
      return (lowerBound + (bound - lowerBound) * within) * 1_000;
    }
    [lowerBound, lowerCount] = [bound, count];
  }
  return lowerBound * 1_000;
}
