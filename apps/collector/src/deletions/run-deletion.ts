import type { Versioned } from "@sluice/event-log";
import type { Logger } from "../process/telemetry/logger.js";
import { DELETION, type DeletionDocument, type Step, stepAfter } from "./deletion.js";
import { type DeletionParts, runStep } from "./run-step.js";

export interface RunParts extends DeletionParts {
  readonly logger: Logger;
  /** Stops the run between two commits. */
  readonly signal: AbortSignal;
}

/** Pause after a failure. Doubles with each failure in a row. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 5 * 60_000;
/** Pause before checking again whether the `delete` messages are delivered. Doubles with each check. */
const FIRST_CHECK_MS = 250;

type Deletion = Versioned<DeletionDocument>;

/** Runs a deletion from its next step to the end. Stores the result of each step before it starts the next one. Never rejects. */
export async function runDeletion(first: Deletion, parts: RunParts): Promise<void> {
  const { clock, logger, signal } = parts;
  const pause = (ms: number): Promise<void> => clock.sleep(ms, signal).catch(() => {});
  let deletion = first;
  let pauseMs = FIRST_PAUSE_MS;
  let checkMs = FIRST_CHECK_MS;
  while (!signal.aborted) {
    const { step } = deletion.value;
    if (step === "done") return;
    try {
      const advanced = await advance(deletion, step, parts);
      if (advanced !== undefined) {
        deletion = advanced;
        pauseMs = FIRST_PAUSE_MS;
        continue;
      }
      await pause(checkMs);
      checkMs = Math.min(checkMs * 2, MAX_PAUSE_MS);
    } catch (error) {
      if (signal.aborted) return;
      logger.error("a deletion failed and will be retried", {
        deletionId: deletion.id,
        step,
        error,
        againInMs: pauseMs,
      });
      deletion = await noteFailure(deletion, error, parts);
      await pause(pauseMs);
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
  }
}

/** Runs the next step and stores its result. Returns undefined if the step cannot complete yet. */
async function advance(
  { id, value, version }: Deletion,
  step: Exclude<Step, "done">,
  parts: RunParts,
): Promise<Deletion | undefined> {
  const result = await runStep(step, id, value, parts);
  if (result === undefined) return undefined;
  const { users, error: _, ...kept } = value;
  const next = stepAfter(step);
  // The ids are not needed from `erase` on. Remove them before `erase` rewrites the files, because the files contain this document.
  const isErased = next === "trace" || next === "done";
  const known = isErased || next === "erase" ? undefined : (result.users ?? users);
  return parts.store.config.put<DeletionDocument>(
    DELETION,
    id,
    {
      ...kept,
      ...(result.receipt === undefined ? {} : { receipt: result.receipt }),
      ...(known === undefined ? {} : { users: known }),
      status: isErased ? "finished" : "running",
      step: next,
    },
    version,
  );
}

/** Stores the error in the deletion, if the store accepts it. The step is retried in any case. */
async function noteFailure(deletion: Deletion, error: unknown, { store }: RunParts): Promise<Deletion> {
  const { config } = store;
  try {
    const now = (await config.get<DeletionDocument>(DELETION, deletion.id)) ?? deletion;
    const message = error instanceof Error ? error.message : String(error);
    // A finished deletion stays finished. Only the traces of its `delete` messages are left to remove.
    const status = now.value.status === "finished" ? "finished" : "failed";
    return await config.put(DELETION, now.id, { ...now.value, status, error: message }, now.version);
  } catch {
    return deletion;
  }
}
