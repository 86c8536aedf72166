import { type AnalyticsOptions, ConfigError, DEFAULTS, type Fetch, flag, integer } from "@sluice/core";

/** Options of the Node.js client: those of every client, and what needs a process. */
export interface NodeAnalyticsOptions extends AnalyticsOptions {
  /** A `fetch` to send with: shorthand for `transport: fetchTransport(fetch)`. */
  fetch?: Fetch | undefined;
  /** Flushes on SIGTERM and SIGINT before the signal ends the process. Default: `false`. */
  flushOnSignals?: boolean | undefined;
  /** Milliseconds that the end of the process may wait for what is queued. Default: 10_000. */
  exitFlushTimeoutMs?: number | undefined;
  /**
   * Keeps what could not be sent on disk, and sends it later, also after a restart. Default: off.
   *
   * @example
   * spool: { directory: "/var/lib/my-app/analytics", maxBytes: 16_777_216 }
   */
  spool?: SpoolOptions | undefined;
}

/** Where the spool is and how large it may be. */
export interface SpoolOptions {
  /** A directory that only this application uses. It is made where there is none. */
  directory: string;
  /** Bytes on disk at most; what does not fit is lost and told to `onError`. Default: 67_108_864 (64 MB). */
  maxBytes?: number | undefined;
}

/** The numbers, each once, those of every client included. */
export const NODE_DEFAULTS = {
  ...DEFAULTS,
  flushOnSignals: false,
  exitFlushTimeoutMs: 10_000,
  /** Of `close()`, where it names none: longer than all retries of a server that is away for 30 s take. */
  closeTimeoutMs: 60_000,
  /** Of `spool.maxBytes`. */
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
