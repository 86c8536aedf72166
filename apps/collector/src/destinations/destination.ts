import type { Attempt } from "@sluice/event-log";
import type { OutboundKind } from "@sluice/protocol";
import type { SourceKind } from "../documents/documents.js";

/**
 * The interface behind which every kind of destination stands. A type is what the catalog lists; a destination is one
 * that was created from it, opened with its settings. CONTRIBUTING.md has the recipe for a new one.
 */
export interface DestinationType {
  /** What the control API takes as `type`, such as `webhooks`. */
  readonly type: string;
  /** The published name, which `integrations` uses; case sensitive. */
  readonly name: string;
  readonly mode: "cloud";
  /** The kinds of source that it works for. */
  readonly sources: readonly SourceKind[];
  /** Whether it takes messages of the past, and if not, how old one may be, in milliseconds. */
  readonly historical: { readonly accepted: true } | { readonly accepted: false; readonly limitMs: number };
  /** Whether the deletion of a user sends `delete` messages to its destinations. */
  readonly takesDeletions: boolean;
  /** JSON Schema of the settings as a client writes them. */
  readonly settingsSchema: object;
  /**
   * Checks what a client wrote, laid over the settings kept before (`null` takes a key out), and returns what is to be
   * kept: secrets sealed.
   */
  parseSettings(input: unknown, previous: unknown): Promise<SettingsResult>;
  /** The kept settings as the control API may show them: nothing secret in it. */
  describe(settings: unknown): { readonly [name: string]: unknown };
  /** Opens a destination with kept settings. Rejects when it cannot work at all, with a message for people. */
  open(settings: unknown): Promise<Destination>;
  /** The kept settings without a target that asked never to be called again (410). */
  withoutTarget?(settings: unknown, target: string, reason: string, atMs: number): unknown;
  /** Targets of the kept settings: those that are called, and those that were taken out so. */
  targets?(settings: unknown): Targets;
}

export interface Targets {
  readonly called: readonly string[];
  readonly disabled: readonly string[];
}

export type SettingsResult =
  | { readonly ok: true; readonly settings: unknown }
  | { readonly ok: false; readonly issues: readonly SettingsIssue[] };

export interface SettingsIssue {
  /** The field: `settings.webhooks[1].url`. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

export interface Destination {
  /** How messages are to be handed to it. */
  readonly flow: Flow;
  /** One round for one message: every way it can end is a `RoundOutcome`; never rejects. */
  deliver(message: OutgoingMessage, round: Round): Promise<RoundOutcome>;
  /** Ends the rounds under way (`aborted`) and releases everything. */
  close(): Promise<void>;
}

export interface Flow {
  /** Rounds under way at one time, at most. */
  readonly concurrency: number;
  /** Rounds begun in a second, at most. Absent: no limit. */
  readonly perSecond?: number;
  /** `user`: a user's messages one after the other, in the order of the log. */
  readonly order: "none" | "user";
}

export interface OutgoingMessage {
  readonly messageId: string;
  readonly sourceId: string;
  /** Checked and coerced. Shared between destinations: not to be changed. */
  readonly message: { readonly type: OutboundKind; readonly [field: string]: unknown };
  /** The settled time of the message: ISO 8601, UTC, milliseconds. */
  readonly timestamp: string;
}

export interface Round {
  /** From 1; counted over restarts. */
  readonly number: number;
  /** The number of the attempt at a target: where each has retries of its own, they are counted for each. */
  numberAt(url: string): number;
  /** Whether a retry after this round would fall outside the window: what is left out now is never tried again. */
  readonly isLast: boolean;
  /** Targets that have retries of their own, and whose time has not come. */
  readonly waitingUrls: readonly string[];
  /** Targets that are not tried again for this message. */
  readonly doneUrls: readonly string[];
  /** Those of `doneUrls` that failed for good. */
  readonly failedUrls: readonly string[];
  /** Keeps an exchange for the trace. May be called after the round's outcome is known. */
  record(attempt: RoundAttempt): void;
  /** A target asked never to be called again (410). May be called after the round's outcome is known. */
  gone(url: string): void;
}

/** One exchange (or write) of a round: a stored attempt without its place. All attempts at a URL share one `requestHeaders`. */
export type RoundAttempt = Omit<Attempt, "offset" | "attempt" | "replay">;

/** A target that is to be tried again. */
export interface TargetRetry {
  readonly url: string;
  /** False: it was left out of the round, and that counts as no attempt. */
  readonly tried: boolean;
  readonly retryAfterMs?: number | undefined;
}

/** Reasons are few in number: they name statuses, codes and targets, never what belongs to one message. */
export type RoundOutcome =
  | { readonly kind: "delivered"; readonly reason: string }
  | {
      readonly kind: "retry";
      readonly reason: string;
      /** What the receiver asked for, from now. */
      readonly retryAfterMs?: number;
      readonly doneUrls: readonly string[];
      readonly failedUrls: readonly string[];
      /** Where each target is to have retries of its own: those that failed in this round and may go better later. */
      readonly targets?: readonly TargetRetry[];
      /**
       * Whether some target took the message: then the destination as such is alive. `unknown`: it did not, but others
       * were not asked.
       */
      readonly alive: boolean | "unknown";
    }
  | { readonly kind: "failed"; readonly reason: string }
  /** The destination was closed meanwhile: as if the round had not been. */
  | { readonly kind: "aborted" };
