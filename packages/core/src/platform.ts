import type { Clock } from "@sluice/resilience";
import type { Transport } from "./transport/transport.js";

/** What the engine needs of the runtime that it is a guest in. */
export interface Platform {
  readonly clock: Clock;
  /** Runs `task` in a later turn of the event loop, before which the process does not end. */
  defer(task: () => void): void;
  /** Keeps the process running until the answer is called. */
  hold(): () => void;
  newMessageId(): string;
  /** Compresses with gzip, away from the main thread where the runtime can. */
  gzip(text: string): Promise<Uint8Array>;
  /** The transport for a client that names none. */
  defaultTransport(maxInFlight: number): Transport;
  /** One line for the operator. Used for a refused write key alone. */
  warn(line: string): void;
  /** One line for whoever debugs; absent when nobody does. */
  debug?: ((line: string) => void) | undefined;
  /** Sent as `User-Agent`. */
  readonly userAgent: string;
}
