import type { Counter, Metrics } from "../../process/telemetry/metrics.js";

const COUNTERS = {
  sluice_cluster_takeovers_total: {
    help: "Times that this process became the owner",
    label: undefined,
    values: [],
  },
  sluice_cluster_step_downs_total: {
    help: "Times that this process stopped being the owner: in order (hand over), or because another process took over or the engine could not be reached (lost)",
    label: "how",
    values: ["hand over", "lost"],
  },
  sluice_cluster_copy_load_failures_total: {
    help: "Times that this process could not replace its copy, for example because the snapshot is damaged",
    label: undefined,
    values: [],
  },
  sluice_cluster_passed_requests_total: {
    help: "Requests that this process passed on to the owner, by how they ended",
    label: "result",
    values: ["answered", "repeated", "cut", "no_owner", "owner_lost"],
  },
} as const;

type Name = keyof typeof COUNTERS;

/**
 * What a process of a cluster counts. It has metrics of its own, and those of the collector that runs in it while it is the owner:
 * counts appear in both, and begin with those of before.
 */
export class ClusterCounts {
  readonly #counts = new Map<
    string,
    { readonly name: Name; readonly value: string | undefined; count: number }
  >();
  #shown: { readonly metrics: Metrics; readonly counters: ReadonlyMap<Name, Counter> }[] = [];

  add(name: Name, value?: string): void {
    const key = `${name} ${value}`;
    const entry = this.#counts.get(key) ?? { name, value, count: 0 };
    entry.count += 1;
    this.#counts.set(key, entry);
    for (const { counters } of this.#shown) counters.get(name)?.inc(value === undefined ? [] : [value]);
  }

  /** Shows the counts in these metrics too. */
  showIn(metrics: Metrics): void {
    const counters = new Map<Name, Counter>();
    for (const [name, { help, label, values }] of Object.entries(COUNTERS) as [
      Name,
      (typeof COUNTERS)[Name],
    ][]) {
      const counter = metrics.counter(name, help, label === undefined ? [] : [label]);
      for (const value of values) counter.inc([value], 0);
      counters.set(name, counter);
    }
    for (const { name, value, count } of this.#counts.values())
      counters.get(name)?.inc(value === undefined ? [] : [value], count);
    this.#shown.push({ metrics, counters });
  }

  /** The collector has stopped: its metrics are not read any more. */
  hideFrom(metrics: Metrics): void {
    this.#shown = this.#shown.filter((shown) => shown.metrics !== metrics);
  }
}
