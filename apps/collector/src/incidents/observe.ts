import { hash } from "node:crypto";
import type { RatesView } from "@sluice/control-api";
import { NOTIFY_AFTER, type RatePointView } from "@sluice/control-api";
import type { Store, Versioned } from "@sluice/event-log";
import type { DestinationStatus } from "../delivery/delivery-stage.js";
import type { DestinationDocument } from "../documents/documents.js";
import { type DiskSpace, isDiskLow } from "./disk-low.js";
import type { Condition } from "./incident.js";

/** Messages of one period. */
interface Counted {
  readonly accepted: number;
  readonly rejected: number;
}

/** The time that is compared with the day before, in milliseconds. */
const RECENT_MS = 10 * 60_000;
/** Fewer rejected messages in that time are no reason to wake somebody. */
const LEAST_REJECTED = 100;
/** The share of rejected messages from which on they count as many. */
const LEAST_SHARE = 0.05;
/** How much larger than usual the share must be. */
const TIMES_USUAL = 3;

/**
 * Whether many more messages than usual are rejected: at least 100 in the last ten minutes, more than 5 % of all, and three times the
 * share of the day before. Once that holds, it is over when one of the first two no longer holds.
 */
export function areRejectionsRising(recent: Counted, usual: Counted, wasRising: boolean): boolean {
  if (recent.rejected < LEAST_REJECTED || shareOf(recent) < LEAST_SHARE) return false;
  return wasRising || shareOf(recent) >= TIMES_USUAL * shareOf(usual);
}

function shareOf({ accepted, rejected }: Counted): number {
  const all = accepted + rejected;
  return all === 0 ? 0 : rejected / all;
}

/** The sum of the points that ended after `fromMs`, and not after `toMs`. */
function countBetween(points: readonly RatePointView[], fromMs: number, toMs: number): Counted {
  let [accepted, rejected] = [0, 0];
  for (const point of points) {
    const atMs = Date.parse(point.at);
    if (atMs <= fromMs || atMs > toMs) continue;
    accepted += point.accepted;
    rejected += point.rejected;
  }
  return { accepted, rejected };
}

/** A destination and how it is doing; no status: it has not started yet. */
export interface ObservedDestination extends Versioned<DestinationDocument> {
  readonly status: DestinationStatus | undefined;
}

/** Everything that a check looks at. */
export interface Observed {
  readonly nowMs: number;
  readonly destinations: readonly ObservedDestination[];
  /** See `failingSince`. */
  readonly failingSinceMs: ReadonlyMap<string, number>;
  readonly heldBack: ReturnType<Store["stats"]>["retentionHeldBack"];
  /** Undefined: the disk could not be read. */
  readonly disk: DiskSpace | undefined;
  /** The last hour in points of 20 s, and the last day in points of 5 min. */
  readonly rates: { readonly hour: RatesView; readonly day: RatesView };
  /** When the open incident with this key was opened; undefined: none is open. */
  readonly openedAtMs: (key: string) => number | undefined;
}

/** How long retention must be held back before it counts: a destination that is read at the moment catches up. */
const HELD_BACK_FOR_MS = 5 * 60_000;
export const DISK_KEY = "disk_low";
export const REJECTIONS_KEY = "rejections_rising";

/** What is wrong now. `heldBackSinceMs`: since when retention is held back without a break. */
export function observe(observed: Observed, heldBackSinceMs: number | undefined): Condition[] {
  return [
    ...observed.destinations.flatMap((destination) => [
      ...failing(destination, observed),
      ...disabledUrls(destination, observed.nowMs),
    ]),
    ...retentionHeldBack(observed, heldBackSinceMs),
    ...diskLow(observed),
    ...rejectionsRising(observed),
  ];
}

function failing(
  { id, value, status }: ObservedDestination,
  { nowMs, failingSinceMs, openedAtMs }: Observed,
): Condition[] {
  const sinceMs = failingSinceMs.get(id);
  const { notifyAfterMs = NOTIFY_AFTER.defaultMs } = value;
  if (status === undefined || sinceMs === undefined) return [];
  // A wall clock that is set back does not end an incident.
  const latestMs = Math.max(nowMs, openedAtMs(failingKey(id)) ?? nowMs);
  if (latestMs - sinceMs < notifyAfterMs) return [];
  const { reason, retries } = status;
  const waiting = retries === 0 ? "" : ` Messages that wait for a retry: ${retries}.`;
  return [
    {
      key: failingKey(id),
      kind: "destination_failing",
      title: `${value.name} is failing`,
      detail: `${reason}.${waiting} Fix the receiver, send a test, then retry the failed deliveries.`,
      destinationId: id,
      sinceMs,
    },
  ];
}

export function failingKey(destinationId: string): string {
  return `destination_failing:${destinationId}`;
}

const FAILING: ReadonlySet<string> = new Set(["failing", "partly_failing", "backing_off"]);

/**
 * Since when each destination is failing without a break; absent: it is not. `before`: as of the last check. Health says more than the
 * last delivery: with one delivery of many that succeeds, a destination is still failing.
 */
export function failingSince(
  destinations: readonly ObservedDestination[],
  before: (destinationId: string) => number | undefined,
  nowMs: number,
): ReadonlyMap<string, number> {
  return new Map(
    destinations.flatMap(({ id, status }) => {
      // It has not answered, which is no break.
      if (status === undefined) return entryOf(id, before(id));
      if (!FAILING.has(status.health)) return [];
      const { failingSinceMs = nowMs, sinceMs = nowMs } = status;
      // Later than now: the wall clock was set back.
      return [[id, Math.min(before(id) ?? nowMs, failingSinceMs, sinceMs, nowMs)] as const];
    }),
  );
}

function entryOf(id: string, sinceMs: number | undefined): (readonly [string, number])[] {
  return sinceMs === undefined ? [] : [[id, sinceMs]];
}

function disabledUrls({ id, value, status }: ObservedDestination, nowMs: number): Condition[] {
  if (!value.enabled) return [];
  return (status?.disabledTargets ?? []).map((url) => ({
    key: `url_disabled:${id}:${digestOf(url)}`,
    kind: "url_disabled",
    title: `A URL of ${value.name} is disabled`,
    detail: `${originOf(url)} answered 410 Gone, so nothing is sent there. When the receiver works again, enable it again, then retry the failed deliveries.`,
    destinationId: id,
    sinceMs: nowMs,
  }));
}

/** The key is the incident's id, which is sent and shown. The URL may contain a secret. */
function digestOf(url: string): string {
  return hash("sha256", url, "hex").slice(0, 16);
}

/** Without path and query, which may contain a secret. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "The URL";
}

function retentionHeldBack(
  { heldBack, nowMs, destinations }: Observed,
  sinceMs: number | undefined,
): Condition[] {
  if (heldBack === undefined || sinceMs === undefined || nowMs - sinceMs < HELD_BACK_FOR_MS) return [];
  const { consumerId, bytes } = heldBack;
  const destination = destinations.find(({ id }) => id === consumerId);
  const name = destination?.value.name ?? consumerId;
  return [
    {
      key: `retention_held_back:${consumerId}`,
      kind: "retention_held_back",
      title: `${name} holds back retention`,
      detail: `${megabytes(bytes)} beyond the retention limits are kept, because ${name} has not read them or still retries them. Fix it, or delete it if you no longer need it.`,
      ...(destination === undefined ? {} : { destinationId: consumerId }),
      sinceMs,
    },
  ];
}

function diskLow({ disk, openedAtMs, nowMs }: Observed): Condition[] {
  if (disk === undefined || !isDiskLow(disk, openedAtMs(DISK_KEY) !== undefined)) return [];
  return [
    {
      key: DISK_KEY,
      kind: "disk_low",
      title: "The disk is nearly full",
      detail: `${megabytes(disk.freeBytes)} of ${megabytes(disk.totalBytes)} are free where the data folder is. When it is full, the collector accepts no messages. Free some space, or lower the retention limits.`,
      sinceMs: nowMs,
    },
  ];
}

function rejectionsRising({ rates, openedAtMs, nowMs }: Observed): Condition[] {
  const recent = countBetween(rates.hour.points, nowMs - RECENT_MS, nowMs);
  const usual = countBetween(rates.day.points, Number.NEGATIVE_INFINITY, nowMs - RECENT_MS);
  if (!areRejectionsRising(recent, usual, openedAtMs(REJECTIONS_KEY) !== undefined)) return [];
  const percent = (share: number): string => `${Number((share * 100).toFixed(1))} %`;
  return [
    {
      key: REJECTIONS_KEY,
      kind: "rejections_rising",
      title: "Many messages are rejected",
      detail: `${recent.rejected} messages were rejected in the last 10 minutes (${percent(shareOf(recent))}, before that ${percent(shareOf(usual))}). The debugger shows them with the reasons.`,
      sinceMs: nowMs,
    },
  ];
}

function megabytes(bytes: number): string {
  const mb = bytes / 1_024 ** 2;
  return mb >= 1_024 ? `${(mb / 1_024).toFixed(1)} GB` : `${mb.toFixed(1)} MB`;
}
