import type { Clock } from "@sluice/resilience";
import type { Transport } from "./transport/transport.js";

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
  /** Makes the transport of a client that sets none. */
  defaultTransport(maxInFlight: number): Transport;
  /** Prints one line for the operator. Used only for a refused write key. */
  warn(line: string): void;
  /** Prints one line for debugging. Absent if debugging is off. */
  debug?: ((line: string) => void) | undefined;
  /** Sent as `User-Agent`. */
  readonly userAgent: string;
}
