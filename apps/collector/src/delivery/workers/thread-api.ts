import type { MessagePort } from "node:worker_threads";
import type { StoredMessage } from "@sluice/event-log";
import type { Purge } from "../../documents/followed-suppressions.js";
import type { LiveEvent } from "../../process/telemetry/live-events.js";
import type { LogFields, LogLevel } from "../../process/telemetry/logger.js";
import type { FinishedSpan } from "../../process/telemetry/tracing.js";
import type { DeliveryPolicy } from "../delivery-stage.js";
import type { RunningDelivery } from "../run-delivery.js";
import type { BatchedTally } from "./batched-tally.js";

/** What a thread needs to open destinations by itself. */
export interface DeliveryThreadData {
  readonly exportsFolder: string;
  /** The key that seals the secrets of destinations, and keys the digests of user ids. */
  readonly key: Uint8Array;
  readonly allowTargets: readonly string[];
  /** Packages of destination types, and the folder that they are installed in. */
  readonly packages: readonly string[];
  readonly folder: string;
  readonly policy: DeliveryPolicy;
  /** The share of messages without a trace that get one; see `Tracing.share`. Undefined: no spans are recorded. */
  readonly tracesShare: number | undefined;
}

/** What a thread begins with. */
export interface DeliveryStart {
  /** Joins the store. */
  readonly port: MessagePort;
  readonly assigned: readonly string[];
  readonly purges: readonly Purge[];
  /** Whether somebody watches live events. */
  readonly isWatched: boolean;
  /** Whether sending may begin. Otherwise `begin` says when. */
  readonly mayBegin: boolean;
  /** For what else the thread does; see `Companion`. */
  readonly companion: unknown;
}

/** What the threads do besides delivering. */
export interface Companion {
  /** For a thread that starts: what its companion begins with, and the ports in it. `place`: the thread's, from 0. */
  connect(place: number): { readonly data: unknown; readonly transfer: readonly MessagePort[] };
}

/** What the main thread calls: a delivery, started and told by calls of its own. `close` is the last one. */
export interface DeliveryThreadApi extends RunningDelivery {
  /** Resolves when it delivers. The first call. */
  start(start: DeliveryStart): Promise<void>;
  begin(): void;
  watch(isWatched: boolean): void;
}

/** What a thread tells by itself. */
export type DeliveryNotice =
  | { readonly kind: "tally"; readonly tally: BatchedTally }
  | { readonly kind: "live"; readonly event: LiveEvent; readonly stored: StoredMessage | undefined }
  | {
      readonly kind: "log";
      readonly level: LogLevel;
      readonly text: string;
      readonly fields: LogFields;
    }
  | { readonly kind: "span"; readonly span: FinishedSpan }
  /** A URL answered 410 Gone. */
  | { readonly kind: "gone"; readonly destinationId: string; readonly url: string };
