import type { Batch } from "../message/batch.js";
import type { FlushWatch } from "./flush-watch.js";
import type { InFlight } from "./message-queue.js";

/** What a scheduler sends from. */
export interface Outbox {
  readonly inFlight: InFlight;
  /** Queued messages that are not due. */
  readonly notDue: number;
  /** Every message up to this sequence is due. */
  readonly dueUpTo: number;
  /** How many further messages of the largest size fit now. */
  readonly room: number;
  makeAllDue(): void;
  /** Sends the oldest queued batch if it begins with a message up to the sequence `upTo`. Undefined if it does not. */
  sendNext(upTo: number): Promise<void> | undefined;
  /** Sends a batch again that was taken from `inFlight`. */
  resend(batch: Batch): Promise<void>;
}

/** Decides when queued messages become due, and when batches of what is due are sent. */
export interface Scheduler {
  /** Whether requests can be made now. */
  readonly canSend: boolean;
  /** Batches that were sent, never ended, and are sent again. */
  readonly stranded: readonly Batch[];
  /** A call begins. */
  admitted(): void;
  /** A message was queued. */
  queued(): void;
  /** A message found no room. */
  full(): void;
  /** Resolves when a message of any size fits. */
  ready(): Promise<void>;
  /** Resolves all pending `ready()`. */
  wakeAll(): void;
  /** Everything that is queued has become due. */
  due(): void;
  /** A batch took along all that was not due. */
  emptied(): void;
  /** A batch has ended. */
  ended(): void;
  /** A flush waits for what is held. `due` follows. */
  flushing(watch: FlushWatch): void;
  /** Everything that is held is given up. `due` follows. */
  abandoned(): void;
}

/** When queued messages are sent. */
export interface FlushPolicy {
  /** `"batched"`: by count and time. `"eager"`: as soon as a request may be made. */
  readonly kind: "batched" | "eager";
  /** Messages that start a flush. */
  readonly flushAt: number;
  /** Milliseconds from the start of the last flush to the next, if something is queued. */
  readonly flushAfterMs: number;
}

type FlushDecision = { readonly kind: "flush" } | { readonly kind: "wait"; readonly untilMs: number };

/** Decides whether `waiting` messages, which no flush covers yet, are sent now, and when at the latest. */
export function decideFlush(policy: FlushPolicy, waiting: number, lastFlushMs: number): FlushDecision {
  if (policy.kind === "eager" || waiting >= policy.flushAt) return { kind: "flush" };
  return { kind: "wait", untilMs: lastFlushMs + policy.flushAfterMs };
}
