import type { Audiences } from "@sluice/audiences";
import type { Store } from "@sluice/event-log";
import type { Region } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { DeliveryRuntime } from "../delivery/start-delivery.js";
import type { Catalog } from "../destinations/catalog.js";
import type { LiveEvents } from "../process/live-events.js";
import type { Tokens } from "../tokens/tokens.js";
import type { RecentMessages } from "./live/recent-messages.js";

/** What the handlers of the control API work with. */
export interface AdminContext {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly delivery: Pick<DeliveryRuntime, "test" | "status" | "wake">;
  readonly audiences: Pick<Audiences, "reset" | "refusedJoins">;
  readonly tokens: Tokens;
  readonly live: LiveEvents;
  /** The log's end, for the readers of the live stream. */
  readonly recent: RecentMessages;
  readonly clock: Clock;
  readonly logger: AdminLogger;
  /** Undefined where no region is configured. */
  readonly region: Region | undefined;
  /** `dev` allows `POST /reset`. */
  readonly mode: "dev" | "production";
  /** When this process began, in milliseconds since the epoch. */
  readonly startedAtMs: number;
  readonly version: string;
}

/** What the control API needs of a logger. */
export interface AdminLogger {
  warn(message: string, fields?: { readonly [name: string]: unknown }): void;
  error(message: string, fields?: { readonly [name: string]: unknown }): void;
}
