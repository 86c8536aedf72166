import type { SyncView } from "@sluice/control-api";
import type { Offset } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { AggregateSpec } from "../conditions/aggregate.js";
import { AUDIENCE, type Definition } from "./definitions.js";

/** How much of the log an aggregate holds. Stored as it is: the field names are a format. */
export interface AggregateProgress {
  readonly aspect: AggregateSpec;
  /** Later events were counted as they came. Events up to here came before the spec was known and are read from history. */
  readonly upTo: Offset;
  /** History is read up to here. */
  cursor: Offset;
}

/** Whether an aggregate holds the whole past. */
export function isRead({ cursor, upTo }: AggregateProgress): boolean {
  return cursor >= upTo;
}

/**
 * What the engine keeps of a definition, committed together with the profiles it describes. Stored as it is: the field names are a format.
 *
 *   history     Entered when the definition is created or edited. Its aggregates are being read from the log, or audiences and computed
 *               traits that it names are not live. It is not evaluated. Left when all of that is done.
 *   evaluating  Every profile is evaluated once, in order; profiles that messages change meanwhile are evaluated at once.
 *   live        Only changes are evaluated.
 */
export interface DefinitionState {
  /** As it was last applied. */
  readonly definition: Definition;
  phase: "history" | "evaluating" | "live";
  /** Profiles up to this number are evaluated. */
  evaluatedTo: number;
  /** The last profile to evaluate. */
  evaluateUpTo: number;
  evaluated: number;
  /** Members now. */
  size: number;
  /** Profiles whose change is held until the next sync. */
  held: number;
  /** Of a computed trait: users whose value leaves events out because a limit was reached, and how many events. */
  leftOut: { users: number; events: number };
  /** When held changes may be sent. */
  nextSyncAtMs: number;
  /** Destinations that were added and have not received all members yet. */
  resends: readonly Resend[];
  startedAtMs: number;
  finishedAtMs?: number;
}

export interface Resend {
  readonly destinationIds: readonly string[];
  /** Profiles up to this number are done. */
  readonly after: number;
  /** Messages from this number on went to the added destinations too. */
  readonly beforeSeq: number;
}

export function goLive(state: DefinitionState, nowMs: number): void {
  state.phase = "live";
  state.finishedAtMs = nowMs;
}

/** Whether a change is sent at once; otherwise it is held. */
export function sendsAtOnce(state: DefinitionState, nowMs: number): boolean {
  const { definition } = state;
  if (!isSending(definition)) return false;
  return (
    definition.kind !== AUDIENCE || (definition.document.sync.everyMs === 0 && nowMs >= state.nextSyncAtMs)
  );
}

/** Whether held changes have to be sent now. */
export function isFlushDue(state: DefinitionState, nowMs: number): boolean {
  return (
    state.held > 0 && state.phase === "live" && isSending(state.definition) && nowMs >= state.nextSyncAtMs
  );
}

/** Whether profiles have to be evaluated for it. */
export function isScanned({ phase, definition }: DefinitionState): boolean {
  return phase === "evaluating" && !isPaused(definition);
}

/** Whether added destinations have to receive members. */
export function isResendDue({ resends, phase, definition }: DefinitionState): boolean {
  return resends.length > 0 && phase === "live" && isSending(definition);
}

/** The next time, after now, at which it has something to do by itself; undefined if there is none. */
export function nextWakeMs(state: DefinitionState, nowMs: number): number | undefined {
  const waits = state.held > 0 && isSending(state.definition) && state.nextSyncAtMs > nowMs;
  return waits ? state.nextSyncAtMs : undefined;
}

/** The next time of the schedule after now. */
export function afterSync(state: DefinitionState, nowMs: number): number {
  const everyMs = state.definition.kind === AUDIENCE ? state.definition.document.sync.everyMs : 0;
  if (everyMs === 0 || state.nextSyncAtMs > nowMs) return state.nextSyncAtMs;
  return state.nextSyncAtMs + everyMs * (Math.floor((nowMs - state.nextSyncAtMs) / everyMs) + 1);
}

function isPaused({ kind, document }: Definition): boolean {
  return kind === AUDIENCE && document.paused;
}

/** Whether the definition may send at all. */
function isSending(definition: Definition): boolean {
  return definition.document.enabled && !isPaused(definition);
}

/** `history`: the part of it that is read, 0 to 1. */
export function syncView(state: DefinitionState, history: number, nowMs: number): SyncView {
  return {
    state: syncStateName(state, nowMs),
    progress: progressOf(state, history),
    evaluated: state.evaluated,
    ...(state.leftOut.users === 0 ? {} : { leftOut: { ...state.leftOut } }),
    startedAt: formatTime(state.startedAtMs),
    ...(state.finishedAtMs === undefined ? {} : { finishedAt: formatTime(state.finishedAtMs) }),
    ...(nowMs < state.nextSyncAtMs ? { nextSyncAt: formatTime(state.nextSyncAtMs) } : {}),
  };
}

function syncStateName(
  { definition, phase, nextSyncAtMs }: DefinitionState,
  nowMs: number,
): SyncView["state"] {
  if (!definition.document.enabled) return "disabled";
  if (isPaused(definition)) return "paused";
  if (phase === "history") return "reading_history";
  if (phase === "evaluating") return "evaluating";
  return nowMs < nextSyncAtMs ? "scheduled" : "live";
}

function progressOf({ phase, evaluatedTo, evaluateUpTo }: DefinitionState, history: number): number {
  if (phase === "history") return history;
  if (phase === "live" || evaluateUpTo === 0) return 1;
  return Math.min(1, evaluatedTo / evaluateUpTo);
}
