/** Counts things of one name, by the values of its labels. */
export interface Counter {
  /** Adds `by` (default 1) for label values in the order in which the labels were named. */
  inc(labels?: readonly string[], by?: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

/** One number of a metric: its full name (`…_bucket` and the like with it), its labels, its value now. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Numbers about a running collector, in the form that Prometheus reads. */
export interface Metrics {
  counter(name: string, help: string, labels?: readonly string[]): Counter;
  /** `read` is called at each scrape; undefined leaves the sample out. */
  gauge(name: string, help: string, read: () => number | undefined): void;
  /** A gauge with labels: `read` answers all of its samples. */
  gauges(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Iterable<readonly [labels: readonly string[], value: number]>,
  ): void;
  /** `buckets`: upper bounds, ascending. */
  histogram(name: string, help: string, buckets: readonly number[]): Histogram;
  /** What a metric stands at; empty for a name that nothing has registered. */
  read(name: string): readonly Sample[];
  render(): string;
}

/** Upper bounds in seconds for the time of something that takes between half a millisecond and ten seconds. */
export const LATENCY_BUCKETS_SECONDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** Different values of labels that one counter keeps; the rest counts as `other`, so that no client can fill the memory. */
const MAX_SERIES = 1_000;

export function createMetrics(): Metrics {
  const families = new Map<string, { readonly head: string; readonly samples: () => Sample[] }>();
  const register = (name: string, help: string, type: string, samples: () => Sample[]): void => {
    if (families.has(name)) throw new Error(`The metric ${name} exists already`);
    families.set(name, { head: `# HELP ${name} ${help}\n# TYPE ${name} ${type}`, samples });
  };

  return {
    counter(name, help, labels = []) {
      const series = new Map<string, { readonly values: readonly string[]; count: number }>();
      if (labels.length === 0) series.set("", { values: [], count: 0 });
      register(name, help, "counter", () =>
        [...series.values()].map(({ values, count }) => sample(name, labels, values, count)),
      );
      return {
        inc(values = [], by = 1) {
          const key = values.length === 1 ? (values[0] as string) : values.join("\0");
          let entry = series.get(key);
          if (entry === undefined) {
            const kept = series.size < MAX_SERIES ? values : labels.map(() => "other");
            const keptKey = kept.join("\0");
            entry = series.get(keptKey) ?? { values: kept, count: 0 };
            series.set(keptKey, entry);
          }
          entry.count += by;
        },
      };
    },
    gauge(name, help, read) {
      register(name, help, "gauge", () => {
        const value = read();
        return value === undefined ? [] : [sample(name, [], [], value)];
      });
    },
    gauges(name, help, labels, read) {
      register(name, help, "gauge", () =>
        Array.from(read(), ([values, value]) => sample(name, labels, values, value)),
      );
    },
    histogram(name, help, buckets) {
      const counts = new Array<number>(buckets.length + 1).fill(0);
      let sum = 0;
      let total = 0;
      register(name, help, "histogram", () => {
        let below = 0;
        const lines = buckets.map((bound, i) => {
          below += counts[i] as number;
          return sample(`${name}_bucket`, ["le"], [String(bound)], below);
        });
        return [
          ...lines,
          sample(`${name}_bucket`, ["le"], ["+Inf"], total),
          sample(`${name}_sum`, [], [], sum),
          sample(`${name}_count`, [], [], total),
        ];
      });
      return {
        observe(value) {
          let i = 0;
          while (i < buckets.length && value > (buckets[i] as number)) i++;
          counts[i] = (counts[i] as number) + 1;
          sum += value;
          total++;
        },
      };
    },
    read: (name) => families.get(name)?.samples() ?? [],
    render() {
      const lines = Array.from(families.values(), ({ head, samples }) => [head, ...samples().map(line)]);
      return `${lines.flat().join("\n")}\n`;
    },
  };
}

function sample(name: string, labels: readonly string[], values: readonly string[], value: number): Sample {
  return { name, labels: Object.fromEntries(labels.map((label, i) => [label, values[i] ?? ""])), value };
}

function line({ name, labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}

function escapeLabel(value: string): string {
  return value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
}
