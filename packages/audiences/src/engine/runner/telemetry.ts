/** Where audiences report problems. The collector's logger is one. */
export interface Logger {
  warn(event: string, fields?: { readonly [name: string]: unknown }): void;
  error(event: string, fields?: { readonly [name: string]: unknown }): void;
}

/** Where audiences register their metrics. The collector's registry is one. */
export interface Metrics {
  counter(
    name: string,
    help: string,
    labels?: readonly string[],
  ): { inc(labels?: readonly string[], by?: number): void };
  /** `read` is called at each scrape; undefined leaves the sample out. */
  gauge(name: string, help: string, read: () => number | undefined): void;
}
