/** The metrics that the dashboard shows. All of them count from the collector's start. */
export interface Totals {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: number;
  /** By destination id, then by state. */
  readonly deliveries: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Parses the Prometheus text format. Ignores other metrics. */
export function readTotals(text: string): Totals {
  const results = new Map<string, number>();
  const deliveries = new Map<string, Map<string, number>>();
  for (const line of text.split("\n")) {
    const [, name, labelText = "", valueText = ""] = LINE.exec(line) ?? [];
    if (name !== "sluice_ingest_messages_total" && name !== "sluice_deliveries_total") continue;
    const value = Number(valueText);
    const labels = new Map(
      [...labelText.matchAll(LABEL)].map(([, key = "", text = ""]) => [key, unescaped(text)]),
    );
    if (name === "sluice_ingest_messages_total") results.set(labels.get("result") ?? "", value);
    else {
      const id = labels.get("destination") ?? "";
      const states = deliveries.get(id) ?? new Map<string, number>();
      states.set(labels.get("state") ?? "", value);
      deliveries.set(id, states);
    }
  }
  return {
    accepted: results.get("accepted") ?? 0,
    duplicates: results.get("duplicate") ?? 0,
    rejected: results.get("rejected") ?? 0,
    deliveries,
  };
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
}

/** The number of deliveries in any of the states, over all destinations. */
export function deliveriesIn(totals: Totals, ...states: readonly string[]): number {
  let sum = 0;
  for (const counts of totals.deliveries.values()) for (const state of states) sum += counts.get(state) ?? 0;
  return sum;
}
