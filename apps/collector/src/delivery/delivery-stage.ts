import type { DestinationHealthView } from "@sluice/control-api";
import type { Store } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { Catalog } from "../destinations/catalog.js";
import type { Suppressions } from "../documents/suppressions.js";
import type { DeliveryPolicy } from "./delivery-policy.js";
import type { MessageLoader } from "./reading/message-loader.js";
import type { SharedReader } from "./reading/shared-reader.js";
import type { Routing } from "./routing/match.js";
import type { DeliveryEvents } from "./settling/delivery-events.js";

/** What all destinations share. */
export interface DeliveryStage {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly policy: DeliveryPolicy;
  readonly events: DeliveryEvents;
  readonly reader: SharedReader;
  readonly loader: MessageLoader;
  readonly suppressions: Pick<Suppressions, "covers"> | undefined;
  readonly sources: Routing["sources"];
}

/** The current state of a destination. */
export interface DestinationStatus {
  readonly state: "delivering" | "disabled" | "backing_off";
  readonly health: DestinationHealthView;
  readonly failingSinceMs?: number;
  /** Targets that answered 410 Gone. */
  readonly disabledTargets: readonly string[];
  /** Messages of the log that it has not reached yet, and those in their first round. */
  readonly behind: number;
  /** Failed messages that wait for their next attempt. */
  readonly retries: number;
  readonly inFlight: number;
  /** When a failing destination is probed next. */
  readonly nextProbeAtMs?: number;
  /** The error of the last failed attempt, until one succeeds. */
  readonly lastError?: string;
}
