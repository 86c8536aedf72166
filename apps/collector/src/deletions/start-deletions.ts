import { formatTime } from "@sluice/protocol";
import type { Logger } from "../logger.js";
import type { ConfigStore, Versioned } from "../store/store.js";
import { DELETION, type DeletionDocument, type Step, stepAfter } from "./deletion.js";
import { type DeletionParts, emptyReceipt, makeStep } from "./make-step.js";

export interface DeletionsOptions extends DeletionParts {
  readonly logger: Logger;
  /** A new id. */
  readonly newId: () => string;
}

export interface Deletions {
  /** Stores the deletion, where the request says, and begins it; resolves when it is stored. */
  create(
    userIds: readonly string[],
    suppress: boolean,
    into?: Pick<ConfigStore, "put">,
  ): Promise<Versioned<DeletionDocument>>;
  get(id: string): Promise<Versioned<DeletionDocument> | undefined>;
  /** Oldest first. */
  list(): Promise<readonly Versioned<DeletionDocument>[]>;
  close(): Promise<void>;
}

/** After a failure; doubled each time up to the longest. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** How often a deletion looks whether its delete messages have been delivered; doubled likewise. */
const FIRST_LOOK_MS = 250;

/** Runs deletions, those of an earlier start included, each step after the other, each stored before the next. */
export async function startDeletions(options: DeletionsOptions): Promise<Deletions> {
  const { store, clock, logger } = options;
  const { config } = store;
  const closing = new AbortController();
  const running = new Map<string, Promise<void>>();

  const pause = (ms: number): Promise<void> => clock.sleep(ms, closing.signal).catch(() => {});

  /** Makes the next step of a deletion and stores what came of it; undefined: it is not time for it yet. */
  const advance = async (
    deletion: Versioned<DeletionDocument>,
    step: Exclude<Step, "done">,
  ): Promise<Versioned<DeletionDocument> | undefined> => {
    const { id, value, version } = deletion;
    const result = await makeStep(step, id, value, options);
    if (result === undefined) return undefined;
    const { users, error: _, ...kept } = value;
    const next = stepAfter(step);
    // From here on nobody needs to know who it was. The ids go before the files are erased: this document stands in them.
    const isErased = next === "trace" || next === "done";
    const isNameless = isErased || next === "erase";
    const known = isNameless ? undefined : (result.users ?? users);
    return config.put<DeletionDocument>(
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
  };

  const run = async (first: Versioned<DeletionDocument>): Promise<void> => {
    let deletion = first;
    let pauseMs = FIRST_PAUSE_MS;
    let lookMs = FIRST_LOOK_MS;
    while (!closing.signal.aborted) {
      const { step } = deletion.value;
      if (step === "done") return;
      try {
        const advanced = await advance(deletion, step);
        if (advanced !== undefined) {
          deletion = advanced;
          pauseMs = FIRST_PAUSE_MS;
          continue;
        }
        await pause(lookMs);
        lookMs = Math.min(lookMs * 2, LONGEST_PAUSE_MS);
      } catch (error) {
        if (closing.signal.aborted) return;
        logger.error("a deletion could not go on", {
          deletionId: deletion.id,
          step,
          error,
          againInMs: pauseMs,
        });
        deletion = await noteFailure(deletion, error);
        await pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
    }
  };
  /** What failed is told in the deletion, as far as the store still takes it; it is tried again all the same. */
  const noteFailure = async (
    deletion: Versioned<DeletionDocument>,
    error: unknown,
  ): Promise<Versioned<DeletionDocument>> => {
    try {
      const now = (await config.get<DeletionDocument>(DELETION, deletion.id)) ?? deletion;
      const message = error instanceof Error ? error.message : String(error);
      // What is finished stays so: only the traces of its delete messages are still to go.
      const status = now.value.status === "finished" ? "finished" : "failed";
      return await config.put(DELETION, now.id, { ...now.value, status, error: message }, now.version);
    } catch {
      return deletion;
    }
  };
  const begin = (deletion: Versioned<DeletionDocument>): void => {
    if (running.has(deletion.id)) return;
    running.set(
      deletion.id,
      run(deletion).finally(() => running.delete(deletion.id)),
    );
  };

  for (const deletion of await config.list<DeletionDocument>(DELETION))
    if (deletion.value.step !== "done") begin(deletion);

  return {
    create: async (userIds, suppress, into = config) => {
      const distinct = [...new Set(userIds)];
      const deletion = await into.put<DeletionDocument>(
        DELETION,
        options.newId(),
        {
          createdAt: formatTime(clock.now()),
          suppress,
          status: "initialized",
          step: "suppress",
          users: distinct.map((userId) => ({ userId, ids: [], sourceIds: [] })),
          receipt: emptyReceipt(distinct),
        },
        0,
      );
      begin(deletion);
      return deletion;
    },
    get: (id) => config.get<DeletionDocument>(DELETION, id),
    list: () => config.list<DeletionDocument>(DELETION),
    close: async () => {
      closing.abort();
      await Promise.all(running.values());
    },
  };
}
