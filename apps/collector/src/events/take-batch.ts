import {
  decodeBatch,
  type MessageKey,
  type Offset,
  offsetAt,
  type StoredBatch,
  type StoredMessage,
  scanRequest,
} from "@sluice/event-log";
import { isPlanned, type Plan, planIssues } from "@sluice/protocol";
import { countMessage, countViolation, type EventEntry, eventOf } from "./event-entry.js";
import type { SourceEvents } from "./source-events.js";

/** So many messages of a name are looked into at once; after that, one from time to time. */
export const SAMPLED_FIRST = 50;

export interface BatchContext {
  readonly events: SourceEvents;
  /** Messages at or before it were counted before. */
  readonly after: Offset;
  /** The source's plan. */
  readonly plan?: Plan | undefined;
  /** Messages that violate the plan are stored, and are counted here. */
  readonly reportsViolations: boolean;
  /** Names that need no sample for now. */
  readonly sampled: Set<EventEntry>;
}

/**
 * Adds a batch of the log to its source's names. The byte scanner finds kinds and events; the messages are parsed only if one of
 * them is to be looked into. Returns how many violated the plan.
 */
export function takeBatch(batch: StoredBatch, context: BatchContext): number {
  const scan = context.reportsViolations ? undefined : scanRequest(batch.body, batch.kind);
  // The scanner does not read the names of pages and screens.
  if (scan === undefined || scan.keys.some(({ type }) => type === "page" || type === "screen"))
    return takeMessages(batch, context);
  takeKeys(batch, scan.keys, context);
  return 0;
}

function takeKeys(batch: StoredBatch, keys: readonly MessageKey[], context: BatchContext): void {
  const skipped = new Set(batch.skipped);
  const wanted = new Map<number, EventEntry>();
  for (const { index, type, event } of keys) {
    if (skipped.has(index) || offsetAt(batch.first, index) <= context.after) continue;
    const entry = countOne(eventOf({ type, event }), batch, context);
    if (entry !== undefined && takesSample(entry, context)) wanted.set(index, entry);
  }
  if (wanted.size === 0) return;
  for (const message of decodeBatch(batch)) {
    const entry = wanted.get(message.offset - batch.first);
    if (entry !== undefined) context.events.sample(entry, message);
  }
}

function takeMessages(batch: StoredBatch, context: BatchContext): number {
  let violating = 0;
  for (const stored of decodeBatch(batch)) {
    if (stored.offset <= context.after) continue;
    const entry = countOne(eventOf(stored.message), batch, context);
    if (entry !== undefined && takesSample(entry, context)) context.events.sample(entry, stored);
    if (reportViolation(stored, entry, context)) violating++;
  }
  return violating;
}

/** Counts a message. Undefined if its name is not kept. */
function countOne(
  event: Pick<EventEntry, "type" | "name">,
  { receivedAtMs }: StoredBatch,
  { events, plan }: BatchContext,
): EventEntry | undefined {
  const isInPlan = plan !== undefined && isPlanned(event.type, event.name, plan) === "planned";
  const entry = events.entry(event, receivedAtMs, isInPlan);
  if (entry !== undefined) countMessage(entry, receivedAtMs);
  return entry;
}

function reportViolation(
  { message: fields, receivedAtMs: atMs }: StoredMessage,
  entry: EventEntry | undefined,
  { plan, reportsViolations }: BatchContext,
): boolean {
  const [violation] = reportsViolations && plan !== undefined ? planIssues(fields, plan) : [];
  if (violation === undefined) return false;
  const { path, message } = violation;
  if (entry !== undefined) countViolation(entry, { path, message, atMs });
  return true;
}

function takesSample(entry: EventEntry, { sampled, events }: BatchContext): boolean {
  if (sampled.has(entry) && (entry.sampled >= SAMPLED_FIRST || entry.sampled === 0)) return false;
  sampled.add(entry);
  return entry.sampled > 0 || events.hasRoomForProperties;
}
