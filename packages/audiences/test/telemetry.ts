import type { Logger, Metrics } from "../src/engine/runner/telemetry.js";

type ReturnsSamples = Parameters<Metrics["gauges"]>[3];

/** Metrics that tests read by name; with a label, `name{value}`. */
export class FakeMetrics implements Metrics {
  readonly #counters = new Map<string, number>();
  readonly #gauges = new Map<string, () => number | undefined>();

  counter(name: string): ReturnType<Metrics["counter"]> {
    return {
      inc: (labels = [], by = 1) => {
        const key = labels.length === 0 ? name : `${name}{${labels.join()}}`;
        this.#counters.set(key, (this.#counters.get(key) ?? 0) + by);
      },
    };
  }

  gauge(name: string, _help: string, read: () => number | undefined): void {
    this.#gauges.set(name, read);
  }

  gauges(name: string, _help: string, _labels: unknown, read: ReturnsSamples): void {
    for (const [labels] of read())
      this.#gauges.set(
        `${name}{${labels.join()}}`,
        () => read().find(([others]) => others.join() === labels.join())?.[1],
      );
  }

  read(name: string): number {
    return this.#gauges.get(name)?.() ?? this.#counters.get(name) ?? 0;
  }
}

/** A logger that keeps its lines as JSON. */
export class FakeLogger implements Logger {
  readonly lines: string[] = [];

  warn(event: string, fields: object = {}): void {
    this.lines.push(JSON.stringify({ event, ...fields }));
  }

  error(event: string, fields: object = {}): void {
    this.lines.push(JSON.stringify({ event, ...fields }));
  }
}
