import type { Audiences } from "@sluice/audiences";
import type { Store } from "@sluice/event-log";
import type { Region } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { DeliveryRuntime } from "../delivery/start-delivery.js";
import type { Catalog } from "../destinations/catalog.js";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import type { Tokens } from "../tokens/tokens.js";
import type { RecentMessages } from "./live/recent-messages.js";

/** The dependencies of the control API's handlers. */
export interface AdminContext {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly delivery: Pick<DeliveryRuntime, "test" | "status" | "wake">;
  readonly audiences: Pick<Audiences, "reset" | "refusedJoins">;
  readonly tokens: Tokens;
  readonly live: LiveEvents;
  /** The end of the log, shared by the readers of the live stream. */
  readonly recent: RecentMessages;
  readonly clock: Clock;
  readonly logger: AdminLogger;
  /** Undefined if no region is configured. */
  readonly region: Region | undefined;
  /** `dev` allows `POST /reset`. */
  readonly mode: "dev" | "production";
  /** When this process started, in milliseconds since the epoch. */
  readonly startedAtMs: number;
  readonly version: string;
}

/** The part of the logger that the control API uses. */
export interface AdminLogger {
  warn(message: string, fields?: { readonly [name: string]: unknown }): void;
  error(message: string, fields?: { readonly [name: string]: unknown }): void;
}
