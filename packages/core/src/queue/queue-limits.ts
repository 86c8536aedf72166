import { LIMITS } from "@sluice/protocol";

/** The option that bounds the queue. */
export type QueueBound = "maxQueueSize" | "maxQueueBytes";

export interface QueueLimits {
  /** The most messages held, those in flight included. */
  readonly messages: number;
  /** The most bytes held, those in flight included. */
  readonly bytes: number;
}

/** What a queue holds, in flight included. */
export interface QueueLoad {
  readonly messages: number;
  readonly bytes: number;
}

/** The bound that a message of `bytes` would exceed. Undefined if it fits. */
export function exceededBound(limits: QueueLimits, load: QueueLoad, bytes: number): QueueBound | undefined {
  if (load.messages >= limits.messages) return "maxQueueSize";
  return load.bytes + bytes > limits.bytes ? "maxQueueBytes" : undefined;
}

/** How many messages fit, whatever their sizes are. */
export function roomFor(limits: QueueLimits, load: QueueLoad): number {
  const ofLargest = Math.floor((limits.bytes - load.bytes) / LIMITS.messageBytes);
  return Math.min(limits.messages - load.messages, ofLargest);
}

/** Says which bound was reached and what to do. */
export function fullQueueText(bound: QueueBound, limits: QueueLimits): string {
  const reached =
    bound === "maxQueueSize" ? `${limits.messages} messages` : `${limits.bytes} bytes of messages`;
  return `The queue is full (${bound}: ${reached}). Await ready() before each call, or raise ${bound}`;
}
