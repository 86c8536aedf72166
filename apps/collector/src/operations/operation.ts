import {
  describeCause,
  type OperationFilter,
  type OperationKind,
  type OperationView,
} from "@sluice/control-api";
import type { Offset, Versioned } from "@sluice/event-log";

/** The kind of an operation's document. */
export const OPERATION = "operation";
/** The kind of a page of an operation's deliveries. Its id is that of the operation, a dot, and the number of the page. */
export const OPERATION_PAGE = "operation_page";

export interface OperationDocument {
  readonly kind: OperationKind;
  /** Without the user once the operation has ended. */
  readonly filter?: OperationFilter;
  /** Number of ids that were given instead of a filter. */
  readonly ids?: number;
  readonly state: OperationView["state"];
  readonly createdAt: string;
  readonly createdBy: OperationView["createdBy"];
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly perSecond: number;
  /** Pages that were selected. Deliveries are started in their order. */
  readonly pages: number;
  readonly total: number;
  /** Deliveries that were started, or skipped. Stored before they start. */
  readonly taken: number;
  /** Ids of deliveries that were started and have no result yet. */
  readonly waiting: readonly string[];
  /** Wall time at which the last of `waiting` were about to start. Absent: all were started. */
  readonly startingAtMs?: number;
  readonly results: OperationView["results"];
  /** Why deliveries failed again: a number for each cause. */
  readonly causes: Readonly<Record<string, number>>;
  readonly error?: string;
}

/** A page of deliveries of one destination. */
export interface OperationPage {
  readonly destinationId: string;
  readonly offsets: readonly Offset[];
}

export type Operation = Versioned<OperationDocument>;
/** How one delivery of an operation ended. */
export type OperationResult = keyof OperationView["results"];

export const NO_RESULTS: OperationView["results"] = { delivered: 0, failed: 0, discarded: 0, skipped: 0 };

export function hasEnded({ state }: Pick<OperationDocument, "state">): boolean {
  return state === "finished" || state === "cancelled" || state === "failed";
}

export function doneIn({ results }: Pick<OperationDocument, "results">): number {
  return results.delivered + results.failed + results.discarded + results.skipped;
}

/** The document with one more result. */
export function withResult(
  operation: OperationDocument,
  result: OperationResult,
  { count = 1, cause }: { readonly count?: number; readonly cause?: string | undefined } = {},
): OperationDocument {
  const { results, causes } = operation;
  return {
    ...operation,
    results: { ...results, [result]: results[result] + count },
    ...(cause === undefined ? {} : { causes: { ...causes, [cause]: (causes[cause] ?? 0) + count } }),
  };
}

/** The document of an operation that has ended. It names no user any more. */
export function ended(
  { filter, error: _, startingAtMs: _starting, ...operation }: OperationDocument,
  state: "finished" | "cancelled" | "failed",
  finishedAt: string,
  error?: string,
): OperationDocument {
  const { userId: _user, ...rest } = filter ?? {};
  return {
    ...operation,
    ...(filter === undefined ? {} : { filter: rest }),
    state,
    finishedAt,
    waiting: [],
    ...(error === undefined ? {} : { error }),
  };
}

/** `ratePerSecond`: of the last seconds. Default: of the whole operation. */
export function operationView(
  { id, value }: Operation,
  nowMs: number,
  ratePerSecond?: number,
): OperationView {
  const { pages: _pages, taken: _taken, startingAtMs: _starting, waiting, causes, ...shown } = value;
  const done = doneIn(value);
  return {
    id,
    ...shown,
    done,
    failed: value.results.failed,
    waiting: waiting.length,
    causes: Object.entries(causes)
      .sort(([one, a], [other, b]) => b - a || (one < other ? -1 : 1))
      .map(([cause, count]) => ({ cause, title: describeCause(cause).title, count })),
    ratePerSecond: Math.round((ratePerSecond ?? rateOf(value, done, nowMs)) * 10) / 10,
  };
}

function rateOf({ startedAt, finishedAt }: OperationDocument, done: number, nowMs: number): number {
  if (startedAt === undefined) return 0;
  const elapsedMs = (finishedAt === undefined ? nowMs : Date.parse(finishedAt)) - Date.parse(startedAt);
  return elapsedMs <= 0 ? done : (done * 1_000) / elapsedMs;
}
