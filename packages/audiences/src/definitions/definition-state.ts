import type { Offset } from "@sluice/event-log";
import type { SyncView } from "@sluice/protocol";
import { formatTime } from "@sluice/protocol";
import type { Aspect } from "../conditions/aspect.js";
import { AUDIENCE, type Definition } from "./definitions.js";

/** How far the making of an aspect is: it holds all events up to `upTo` when history was read up to there. */
export interface AspectProgress {
  readonly aspect: Aspect;
  /** Events at or before it came before the aspect was known; those after it were counted as they came. */
  readonly upTo: Offset;
  /** History is read up to here. */
  cursor: Offset;
}

/**
 * What the engine keeps of a definition, committed with what it describes. Phases: in `history` it waits for its aspects to be read
 * from the log, and for audiences and computed traits that it names to be live; nothing is evaluated. In `evaluating` every
 * profile is evaluated once, in order; those that messages touch meanwhile are evaluated at once. `live`: only changes.
 */
export interface DefinitionState {
  /** As it was applied last. */
  readonly definition: Definition;
  phase: "history" | "evaluating" | "live";
  /** Profiles up to this number are evaluated; and the last that is to be. */
  evaluatedTo: number;
  evaluateUpTo: number;
  evaluated: number;
  /** Members now. */
  size: number;
  /** Profiles of which something is to be sent later. */
  held: number;
  /** Of a computed trait: users in whose value something is left out because a limit was reached, and how many events. */
  leftOut: { users: number; events: number };
  /** When what is held may be sent. */
  nextSyncAtMs: number;
  /** Members that are still to be told to destinations that were added. */
  resends: readonly Resend[];
  startedAtMs: number;
  finishedAtMs?: number;
}

export interface Resend {
  readonly destinationIds: readonly string[];
  /** Profiles up to this number are done. */
  readonly after: number;
  /** Those told by this message or a later one were told with the added destinations. */
  readonly beforeSeq: number;
}

/** Whether a change is sent at once; otherwise it is held. */
export function flows(state: DefinitionState, nowMs: number): boolean {
  const { definition } = state;
  if (!isSending(definition)) return false;
  return (
    definition.kind !== AUDIENCE || (definition.document.sync.everyMs === 0 && nowMs >= state.nextSyncAtMs)
  );
}

/** Whether what is held is to be sent now. */
export function isFlushDue(state: DefinitionState, nowMs: number): boolean {
  return (
    state.held > 0 && state.phase === "live" && isSending(state.definition) && nowMs >= state.nextSyncAtMs
  );
}

/** When it does something by itself, later than now; undefined: never. */
export function nextWakeMs(state: DefinitionState, nowMs: number): number | undefined {
  const waits = state.held > 0 && isSending(state.definition) && state.nextSyncAtMs > nowMs;
  return waits ? state.nextSyncAtMs : undefined;
}

/** The next time of a schedule after now. */
export function afterSync(state: DefinitionState, nowMs: number): number {
  const everyMs = state.definition.kind === AUDIENCE ? state.definition.document.sync.everyMs : 0;
  if (everyMs === 0 || state.nextSyncAtMs > nowMs) return state.nextSyncAtMs;
  return state.nextSyncAtMs + everyMs * (Math.floor((nowMs - state.nextSyncAtMs) / everyMs) + 1);
}

/** Whether the definition may send at all. */
export function isSending({ kind, document }: Definition): boolean {
  return document.enabled && !(kind === AUDIENCE && document.paused);
}

/** `history` is the part of it that is read, 0 to 1. */
export function syncView(state: DefinitionState, history: number, nowMs: number): SyncView {
  const { definition } = state;
  const isPaused = definition.kind === AUDIENCE && definition.document.paused;
  const stateName = !definition.document.enabled
    ? "disabled"
    : isPaused
      ? "paused"
      : state.phase === "history"
        ? "reading_history"
        : state.phase === "evaluating"
          ? "evaluating"
          : nowMs < state.nextSyncAtMs
            ? "scheduled"
            : "live";
  const span = state.evaluateUpTo;
  const progress =
    state.phase === "history"
      ? history
      : state.phase === "evaluating"
        ? span === 0
          ? 1
          : Math.min(1, state.evaluatedTo / span)
        : 1;
  return {
    state: stateName,
    progress,
    evaluated: state.evaluated,
    ...(state.leftOut.users === 0 ? {} : { leftOut: { ...state.leftOut } }),
    startedAt: formatTime(state.startedAtMs),
    ...(state.finishedAtMs === undefined ? {} : { finishedAt: formatTime(state.finishedAtMs) }),
    ...(nowMs < state.nextSyncAtMs ? { nextSyncAt: formatTime(state.nextSyncAtMs) } : {}),
  };
}
