import type { Clock } from "@sluice/resilience";
import type { ContextStorage } from "./message/call-context.js";
import type { Transport } from "./transport.js";

/** What the engine needs from the runtime. Implement it to build a client for another runtime. */
export interface Platform {
  readonly clock: Clock;
  /** Runs `task` in a later turn of the event loop. The process must not end before. */
  defer(task: () => void): void;
  /** Keeps the process alive until the returned function is called. */
  hold(): () => void;
  newMessageId(): string;
  /** Compresses with gzip, off the main thread if the runtime can. */
  gzip(text: string): Promise<Uint8Array>;
  /** Makes the transport of a client that sets none. `warn` prints a line for the operator. */
  defaultTransport(maxInFlight: number, warn: (line: string) => void): Transport;
  /** Makes the storage of `withContext`. Called at its first use. */
  newContextStorage(warn: (line: string) => void): ContextStorage;
  /** Prints one line for the operator. Not called with the option `quiet`. */
  warn(line: string): void;
  /** Prints one line for debugging. Absent if debugging is off. */
  debug?: ((line: string) => void) | undefined;
  /**
   * Present on runtimes where timers and requests end with the incoming request that started them, such as Cloudflare Workers: then only
   * `flush()`, `close()` and `waitUntil` send. Returns whether an incoming request is being handled now.
   */
  isInRequest?: (() => boolean) | undefined;
  /** Sent with each message as `context.library`. Absent: nothing is sent. */
  readonly library?: { readonly name: string; readonly version: string } | undefined;
  /** Sent as `User-Agent`. */
  readonly userAgent: string;
}
