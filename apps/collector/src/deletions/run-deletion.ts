import { StoreError, VersionConflict, type Versioned } from "@sluice/event-log";
import type { Logger } from "../process/telemetry/logger.js";
import { DELETION, type DeletionDocument, type Step, stepAfter } from "./deletion.js";
import { type DeletionParts, runStep } from "./run-step.js";

export interface RunParts extends DeletionParts {
  readonly logger: Logger;
  /** Stops the run between two commits. */
  readonly signal: AbortSignal;
  /** Resolves after a time, when the run is stopped, or when somebody changed the deletion. */
  readonly pause: (ms: number) => Promise<void>;
}

/** Pause after a failure. Doubles with each failure in a row. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 5 * 60_000;
/** Pause before checking again whether the `delete` messages are delivered. Doubles with each check. */
const FIRST_CHECK_MS = 250;

type Deletion = Versioned<DeletionDocument>;

/** Runs a deletion from its next step to the end. Stores the result of each step before it starts the next one. Never rejects. */
export async function runDeletion(first: Deletion, parts: RunParts): Promise<void> {
  const { logger, signal, pause } = parts;
  let deletion = first;
  let pauseMs = FIRST_PAUSE_MS;
  let checkMs = FIRST_CHECK_MS;
  while (!signal.aborted) {
    try {
      // Somebody may have given up its delete messages.
      deletion = await newest(deletion, parts);
      const { step } = deletion.value;
      if (step === "done") return;
      const { deletion: next, waiting } = await advance(deletion, step, parts);
      deletion = next;
      pauseMs = FIRST_PAUSE_MS;
      if (waiting === "no") {
        checkMs = FIRST_CHECK_MS;
        continue;
      }
      if (waiting === "with news") checkMs = FIRST_CHECK_MS;
      await pause(checkMs);
      checkMs = Math.min(checkMs * 2, MAX_PAUSE_MS);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof VersionConflict) continue;
      const { id, value } = deletion;
      logger.error("a deletion failed and will be retried", {
        deletionId: id,
        step: value.step,
        error,
        againInMs: pauseMs,
      });
      deletion = await noteFailure(deletion, error, parts);
      await pause(pauseMs);
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
  }
}

async function newest(deletion: Deletion, { store }: RunParts): Promise<Deletion> {
  return (await store.config.get<DeletionDocument>(DELETION, deletion.id)) ?? deletion;
}

interface Advanced {
  readonly deletion: Deletion;
  /** Whether the step cannot complete yet, and whether its state so far is news. */
  readonly waiting: "no" | "with news" | "without news";
}

/** Runs the next step and stores its result. */
async function advance(deletion: Deletion, step: Exclude<Step, "done">, parts: RunParts): Promise<Advanced> {
  const { id, value, version } = deletion;
  const result = await runStep(step, id, value, parts);
  const { config } = parts.store;
  const { users, error: _, ...kept } = value;
  if (result.kind !== "done") {
    const status = result.kind === "waiting" ? result.status : "running";
    const next: DeletionDocument = {
      ...kept,
      ...(users === undefined ? {} : { users }),
      ...{ status, receipt: result.receipt },
    };
    if (JSON.stringify(next) === JSON.stringify(value)) return { deletion, waiting: "without news" };
    const stored = await config.put<DeletionDocument>(DELETION, id, next, version);
    return { deletion: stored, waiting: result.kind === "waiting" ? "with news" : "no" };
  }
  const next = stepAfter(step);
  // The ids are not needed from `erase` on. Remove them before `erase` rewrites the files, because the files contain this document.
  const isErased = next === "erase" || next === "trace" || next === "done";
  const known = isErased ? undefined : (result.users ?? users);
  const stored = await config.put<DeletionDocument>(
    DELETION,
    id,
    {
      ...kept,
      ...(result.receipt === undefined ? {} : { receipt: result.receipt }),
      ...(known === undefined ? {} : { users: known }),
      status: next === "done" ? "finished" : "running",
      step: next,
    },
    version,
  );
  return { deletion: stored, waiting: "no" };
}

/**
 * Stores the error in the deletion, if the store accepts it. The step is retried in any case: the deletion has failed only if somebody has
 * to repair damaged data before.
 */
async function noteFailure(deletion: Deletion, error: unknown, { store }: RunParts): Promise<Deletion> {
  const { config } = store;
  try {
    const now = (await config.get<DeletionDocument>(DELETION, deletion.id)) ?? deletion;
    const message = error instanceof Error ? error.message : String(error);
    const isDamaged = error instanceof StoreError && error.code === "data_damaged";
    const noted: DeletionDocument = {
      ...now.value,
      status: isDamaged ? "failed" : "running",
      error: message,
    };
    return await config.put(DELETION, now.id, noted, now.version);
  } catch {
    return deletion;
  }
}
