/** The logger that audiences need. The collector's logger fits. */
export interface Logger {
  warn(event: string, fields?: { readonly [name: string]: unknown }): void;
  error(event: string, fields?: { readonly [name: string]: unknown }): void;
}

/** The metrics registry that audiences need. The collector's registry fits. */
export interface Metrics {
  counter(
    name: string,
    help: string,
    labels?: readonly string[],
  ): { inc(labels?: readonly string[], by?: number): void };
  /** `read` is called at each scrape. If it returns undefined, the sample is left out. */
  gauge(name: string, help: string, read: () => number | undefined): void;
  gauges(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => readonly (readonly [labels: readonly string[], value: number])[],
  ): void;
}
