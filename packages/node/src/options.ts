import { type AnalyticsOptions, DEFAULTS, type Fetch, flag, integer } from "@sluice/core";

/** Options of the Node.js client: those of every client, and what needs a process. */
export interface NodeAnalyticsOptions extends AnalyticsOptions {
  /** A `fetch` to send with: shorthand for `transport: fetchTransport(fetch)`. */
  fetch?: Fetch | undefined;
  /** Flushes on SIGTERM and SIGINT before the signal ends the process. Default: `false`. */
  flushOnSignals?: boolean | undefined;
  /** Milliseconds that the end of the process may wait for what is queued. Default: 10_000. */
  exitFlushTimeoutMs?: number | undefined;
}

/** The numbers, each once, those of every client included. */
export const NODE_DEFAULTS = {
  ...DEFAULTS,
  flushOnSignals: false,
  exitFlushTimeoutMs: 10_000,
  /** Of `close()`, where it names none. */
  closeTimeoutMs: 30_000,
} as const;

export interface ResolvedNodeOptions {
  readonly flushOnSignals: boolean;
  readonly exitFlushTimeoutMs: number;
}

export function resolveNodeOptions(options: NodeAnalyticsOptions): ResolvedNodeOptions {
  const given = options as unknown as { readonly [name: string]: unknown };
  return {
    flushOnSignals: flag(given, "flushOnSignals", NODE_DEFAULTS.flushOnSignals),
    exitFlushTimeoutMs: integer(given, "exitFlushTimeoutMs", NODE_DEFAULTS.exitFlushTimeoutMs, 0),
  };
}
