import type { Socket } from "node:net";
import type { SettingsProblem, SettingsSchema } from "./settings.js";

/** The version of this interface. Every field that it gains later has a default, so that older packages go on working. */
export const DESTINATION_INTERFACE = 1;

/** A type of destination, such as `email`. The collector finds it in the default export of a package. */
export interface DestinationDefinition<Settings extends object = Record<string, unknown>> {
  /** The value of `type` in the control API: small letters, digits and `-`, at most 50. */
  readonly type: string;
  /** The public name, which messages' `integrations` use. Case-sensitive. */
  readonly name: string;
  /** One sentence about what it does, for the catalog. */
  readonly description?: string;
  /**
   * The dashboard's icon of the type: the `d` of an SVG path on a grid of 16 × 16, drawn as a line 1.5 wide in the colour of the text. At
   * most 1,000 characters. Default: an arrow into a tray.
   */
  readonly icon?: string;
  readonly settings: SettingsSchema;
  /** What is wrong with valid settings together. Secrets are the texts themselves. Default: nothing. */
  check?(settings: Settings): readonly SettingsProblem[];
  /** The oldest message that it takes, in milliseconds. Default: it takes messages of any age. */
  readonly maxAgeMs?: number;
  /**
   * What a deletion of a user does. `message`: it gets a message of type `delete`, as webhooks do. `erase`: its `erase` is called.
   * `none`: nothing is sent, and what it got before stays there. Default: `none`.
   */
  readonly takesDeletions?: "message" | "erase" | "none";
  /** The limit for one delivery, in milliseconds. Then its signal is aborted, and it counts as failed. Default: 30,000. */
  readonly timeoutMs?: number;
  /** Where messages go, for traces, without secrets: `email:smtp.example.com:587`. Default: the type and a colon. */
  target?(settings: Settings): string;
  /** How messages are scheduled. Default: one at a time, in any order. Batches go one after the other, whatever it says. */
  flow?(settings: Settings): Flow;
  /** How large batches are, if it delivers batches. */
  batch?(settings: Settings): BatchLimits;
  /** Opens a destination. If it cannot work at all, reject with a message that says what to do: the collector shows it, and tries again. */
  open(settings: Settings, context: OpenContext): OpenDestination | Promise<OpenDestination>;
}

export interface Flow {
  /** Messages that are delivered at the same time at most. */
  readonly concurrency: number;
  /** Messages that are begun per second at most. Default: no limit. */
  readonly perSecond?: number;
  /** `user`: the messages of a user one after the other, in the order in which they were received. */
  readonly order: "none" | "user";
}

/** A batch is sent when one of these is reached. */
export interface BatchLimits {
  /** Default: 10,000. */
  readonly maxMessages?: number;
  /** Memory of the messages, as the collector estimates it. Default: 16 MB. */
  readonly maxBytes?: number;
  /** How long the first message waits for others, in milliseconds. Default: 60,000. */
  readonly maxAgeMs?: number;
}

/** A destination that is open with its settings. It has either `deliver` or `deliverBatch`. */
export type OpenDestination = DeliversMessages | DeliversBatches;

export interface DeliversMessages extends Releases {
  /**
   * Delivers one message once. The collector retries, with the same `message.id`, so that repetitions can be recognized. A promise
   * that rejects counts as `retry`.
   */
  deliver(message: OutgoingMessage, attempt: Attempt): Promise<DeliveryResult>;
}

export interface DeliversBatches extends Releases {
  /** Delivers a batch once, and no other meanwhile. A promise that rejects counts as `retry` for all its messages. */
  deliverBatch(batch: Batch, attempt: Attempt): Promise<BatchResult>;
}

interface Releases {
  /**
   * Removes everything that belongs to a user, if `takesDeletions` is `erase`. Called when what was received before is delivered, and again
   * if it fails.
   */
  erase?(user: ErasedUser, attempt: Attempt): Promise<DeliveryResult>;
  /** Releases everything. Deliveries under way have been aborted by then. */
  close?(): Promise<void>;
}

/** Exactly one of them. Who was known by several ids is erased by each. */
export interface ErasedUser {
  readonly userId?: string;
  readonly anonymousId?: string;
}

export interface Batch {
  /**
   * The positions of its first and its last message. It is fixed with the messages before the first attempt: a repetition has the same
   * range and the same messages, also after a crash, and whatever was changed meanwhile. Only what a deletion has erased in the collector
   * is missing then.
   */
  readonly range: { readonly from: number; readonly to: number };
  /**
   * The name of the range, for files and marks: `from-to`, in digits that sort as the log does. No other batch of the destination has it:
   * one of messages that are sent once more ends in `-again-` and letters.
   */
  readonly id: string;
  /** In the order of the log. At least one. */
  readonly messages: readonly OutgoingMessage[];
}

/** How a batch ended. */
export type BatchResult = DeliveryResult & {
  /** The messages that ended in another way. Default: none. */
  readonly others?: readonly OtherResult[];
};

export interface OtherResult {
  /** The message's index in the batch. */
  readonly index: number;
  readonly result: DeliveryResult;
}

export interface OutgoingMessage {
  readonly id: string;
  readonly sourceId: string;
  /** The time of the message after clock correction: ISO 8601, UTC, with milliseconds. */
  readonly timestamp: string;
  /** The message's position in the collector's log. Ascends in the order of receipt. */
  readonly position: number;
  /** When the collector received it, in milliseconds since 1970. */
  readonly receivedAtMs: number;
  /** What a webhook with the body `full` would get. Other destinations share it, so do not change it. */
  readonly payload: { readonly type: string; readonly [field: string]: unknown };
  /** The trace to hand on, as headers: `traceparent`, and `tracestate` if there is one. Absent: it belongs to no trace. */
  readonly trace?: { readonly [header: string]: string };
}

export interface Attempt {
  /** From 1. Survives restarts. */
  readonly number: number;
  /** The retry window ends before another attempt. */
  readonly isLast: boolean;
  /** Aborted at the time limit, and when the collector stops or the destination changes. */
  readonly signal: AbortSignal;
}

/**
 * How a delivery ended. `reason` is counted, so it must have few different values (`550`, `timeout`), nothing of one message;
 * `detail` may say more, and is shown with the attempt. Secrets are removed from both.
 */
export type DeliveryResult =
  | {
      readonly kind: "delivered";
      readonly reason: string;
      /** What arrived, or where it is now. Shown for test messages. */
      readonly detail?: string;
    }
  /** It may work later. The collector retries within the destination's retry window. */
  | {
      readonly kind: "retry";
      readonly reason: string;
      readonly detail?: string;
      /** The wait that the other side asked for. */
      readonly retryAfterMs?: number;
      /** Only this message failed, and others may be sent meanwhile. Default: false, so that a breaker opens for the destination. */
      readonly isReachable?: boolean;
    }
  /** It will never work. */
  | { readonly kind: "failed"; readonly reason: string; readonly detail?: string };

/** What the collector lends to an open destination. */
export interface OpenContext {
  /** Opens a connection if the collector allows its address. Every connection must be opened by it. */
  readonly connect: Connect;
  /** Wall-clock time, in milliseconds. */
  now(): number;
  /** Writes to the collector's log. Secrets are removed. */
  log(level: "info" | "warn", text: string): void;
}

/** Rejects if the address is not allowed, or there is no connection within the destination's time limit. */
export type Connect = (to: ConnectTo) => Promise<Socket>;

export interface ConnectTo {
  readonly host: string;
  readonly port: number;
  /** Encrypt with TLS from the first byte, and check the certificate. Default: false. */
  readonly tls?: boolean;
  /** With `tls`: a certificate authority in PEM, to trust besides the public ones. Default: none. */
  readonly ca?: string;
  readonly signal?: AbortSignal;
}
