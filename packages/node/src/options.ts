import { type AnalyticsOptions, ConfigError, DEFAULTS, type Fetch, flag, integer } from "@sluice/core";

/** The options of the Node.js client. */
export interface NodeAnalyticsOptions extends AnalyticsOptions {
  /** The `fetch` to send with. Shorthand for `transport: fetchTransport(fetch)`. */
  fetch?: Fetch | undefined;
  /** Flushes on SIGTERM and SIGINT before the signal ends the process. Default: `false`. */
  flushOnSignals?: boolean | undefined;
  /** How long the end of the process may wait for queued messages, in milliseconds. Default: 10_000. */
  exitFlushTimeoutMs?: number | undefined;
  /**
   * Keeps messages on disk that could not be sent, and sends them later, also after a restart. Default: off.
   *
   * @example
   * spool: { directory: "/var/lib/my-app/analytics", maxBytes: 16_777_216 }
   */
  spool?: SpoolOptions | undefined;
}

/** The directory and size of the spool. */
export interface SpoolOptions {
  /** A directory that only this application uses. It is created if it does not exist. */
  directory: string;
  /** The most bytes on disk. Messages that do not fit are lost and reported to `onError`. Default: 67_108_864 (64 MB). */
  maxBytes?: number | undefined;
}

/** The default values of all options. */
export const NODE_DEFAULTS = {
  ...DEFAULTS,
  flushOnSignals: false,
  exitFlushTimeoutMs: 10_000,
  /** For `close()` without `timeoutMs`. It is longer than all retries during an outage of 30 s. */
  closeTimeoutMs: 60_000,
  /** For `spool.maxBytes`. */
  spoolMaxBytes: 67_108_864,
} as const;

export interface ResolvedNodeOptions {
  readonly flushOnSignals: boolean;
  readonly exitFlushTimeoutMs: number;
  readonly spool: { readonly directory: string; readonly maxBytes: number } | undefined;
}

export function resolveNodeOptions(options: NodeAnalyticsOptions): ResolvedNodeOptions {
  const given = options as unknown as { readonly [name: string]: unknown };
  return {
    flushOnSignals: flag(given, "flushOnSignals", NODE_DEFAULTS.flushOnSignals),
    exitFlushTimeoutMs: integer(given, "exitFlushTimeoutMs", NODE_DEFAULTS.exitFlushTimeoutMs, 0),
    spool: resolveSpool(given.spool),
  };
}

function resolveSpool(spool: unknown): ResolvedNodeOptions["spool"] {
  if (spool === undefined || spool === null) return undefined;
  const { directory, ...sizes } = spool as { readonly [name: string]: unknown };
  if (typeof directory !== "string" || directory === "") {
    throw new ConfigError("spool.directory", "must be the path of a directory", directory);
  }
  const maxBytes = integer(
    { "spool.maxBytes": sizes.maxBytes },
    "spool.maxBytes",
    NODE_DEFAULTS.spoolMaxBytes,
    1,
  );
  return { directory, maxBytes };
}
