import type { Retry, StoredMessage } from "@sluice/event-log";
import type { Match } from "../routing/match.js";
import type { Place } from "./cursor-tracker.js";

/** Overhead of an object or array, and of each value in it, in bytes. */
const CONTAINER_BYTES = 64;
const VALUE_BYTES = 16;

/** Estimates the heap that a parsed JSON value takes, in bytes. Many small objects take twenty times their text. */
export function heldBytes(value: unknown): number {
  if (typeof value === "string") return VALUE_BYTES + value.length;
  if (typeof value !== "object" || value === null) return VALUE_BYTES;
  let bytes = CONTAINER_BYTES + VALUE_BYTES;
  if (Array.isArray(value)) for (const item of value) bytes += heldBytes(item);
  else for (const name in value) bytes += name.length + heldBytes((value as Record<string, unknown>)[name]);
  return bytes;
}

export type Deliverable = Extract<Match, { kind: "deliver" }>;

/** A message on its way to a destination. */
export interface Work {
  readonly stored: StoredMessage;
  readonly matched: Deliverable;
  /** The memory that the message takes, in bytes, estimated. */
  readonly heldBytes: number;
  /** Its place in the order of the log. Absent for a retry. */
  readonly place?: Place;
  readonly retry?: Retry;
}
