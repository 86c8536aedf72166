import type { Audiences } from "@sluice/audiences";
import type { LimitsView } from "@sluice/control-api";
import type { Store } from "@sluice/event-log";
import type { Region } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { DeliveryRuntime } from "../delivery/start-delivery.js";
import type { Catalog } from "../destinations/catalog.js";
import type { PlanOf } from "../documents/documents.js";
import type { EventCatalog } from "../events/event-catalog.js";
import type { DiskSpace } from "../incidents/disk-low.js";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import type { Tokens } from "../tokens/tokens.js";
import type { Transformations } from "../transformations/transformations.js";
import type { ClusterControl } from "./collector/cluster-control.js";
import type { RecentMessages } from "./live/recent-messages.js";
import type { OpenStreams } from "./live/server-sent-event.js";

/** The dependencies of the control API's handlers. */
export interface AdminContext {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly transformations: Pick<Transformations, "apply">;
  readonly delivery: Pick<DeliveryRuntime, "test" | "status" | "wake">;
  readonly audiences: Pick<Audiences, "reset" | "refusedJoins">;
  readonly events: Pick<EventCatalog, "of" | "behind" | "clear">;
  readonly planOf: PlanOf;
  readonly tokens: Tokens;
  readonly live: LiveEvents;
  /** The end of the log, shared by the readers of the live stream. */
  readonly recent: RecentMessages;
  /** The live streams that are open. */
  readonly streams: OpenStreams;
  readonly clock: Clock;
  readonly logger: AdminLogger;
  /** The configured URL at which clients send messages. */
  readonly publicUrl: string | undefined;
  /** Undefined if no region is configured. */
  readonly region: Region | undefined;
  /** `dev` allows `POST /reset`. */
  readonly mode: "dev" | "production";
  /** When this process started, in milliseconds since the epoch. */
  readonly startedAtMs: number;
  readonly version: string;
  readonly limits: LimitsView;
  /** The free space of the disk with the data folder. */
  readonly readDisk: () => Promise<DiskSpace>;
  /** Undefined if the collector runs on its own. */
  readonly cluster?: ClusterControl | undefined;
}

/** The part of the logger that the control API uses. */
export interface AdminLogger {
  warn(message: string, fields?: { readonly [name: string]: unknown }): void;
  error(message: string, fields?: { readonly [name: string]: unknown }): void;
}
