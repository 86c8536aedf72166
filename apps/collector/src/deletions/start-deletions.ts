import type { ConfigStore, IdDigest, Identity, Versioned } from "@sluice/event-log";
import { type DeletionPlan, type DeletionReceipt, formatTime } from "@sluice/protocol";
import type { Logger } from "../process/logger.js";
import { DELETION, type DeletionDocument, type Step, stepAfter } from "./deletion.js";
import { type DeletionParts, emptyReceipt, makeStep } from "./make-step.js";
import { planDeletion } from "./plan-deletion.js";

export interface DeletionsOptions extends Omit<DeletionParts, "signal"> {
  readonly logger: Logger;
  /** A new id. */
  readonly newId: () => string;
}

export interface Deletions {
  /** Stores the deletion, where the request says, and begins it; resolves when it is stored. */
  create(
    identities: readonly Identity[],
    options: DeletionOptions,
    into?: Pick<ConfigStore, "put">,
  ): Promise<Versioned<DeletionDocument>>;
  /** What it would take; nothing is stored or changed. */
  plan(identities: readonly Identity[], options: DeletionOptions): Promise<DeletionPlan>;
  get(id: string): Promise<Versioned<DeletionDocument> | undefined>;
  /** Oldest first. */
  list(): Promise<readonly Versioned<DeletionDocument>[]>;
  /** Ends the steps that are under way between two commits: they are made again at the next start. */
  close(): Promise<void>;
}

export interface DeletionOptions {
  readonly suppress: boolean;
  /** Whether other user ids of the same profile go too. */
  readonly includeAliases: boolean;
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
  const parts: DeletionParts = { ...options, signal: closing.signal };
  const running = new Map<string, Promise<void>>();

  const pause = (ms: number): Promise<void> => clock.sleep(ms, closing.signal).catch(() => {});

  /** Makes the next step of a deletion and stores what came of it; undefined: it is not time for it yet. */
  const advance = async (
    deletion: Versioned<DeletionDocument>,
    step: Exclude<Step, "done">,
  ): Promise<Versioned<DeletionDocument> | undefined> => {
    const { id, value, version } = deletion;
    const result = await makeStep(step, id, value, parts);
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

  for (const deletion of await withKeyedReceipts(config, options.digest))
    if (deletion.value.step !== "done") begin(deletion);

  return {
    plan: (identities, { suppress, includeAliases }) =>
      planDeletion([...new Set(identities)], { suppress, includeAliases }, options),
    create: async (identities, { suppress, includeAliases }, into = config) => {
      const distinct = [...new Set(identities)];
      await options.profiles.counted();
      const users = await Promise.all(
        distinct.map(async (identity) => {
          const { aliases } = await options.profiles.identitiesOf(identity, includeAliases);
          return { identity, identities: [], aliases, sourceIds: [] };
        }),
      );
      const deletion = await into.put<DeletionDocument>(
        DELETION,
        options.newId(),
        {
          createdAt: formatTime(clock.now()),
          suppress,
          includeAliases,
          status: "initialized",
          step: "suppress",
          users,
          receipt: emptyReceipt(distinct, options.digest),
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

/** All deletions. Receipts of older versions name users by plain digests: they get keyed ones. */
async function withKeyedReceipts(
  config: ConfigStore,
  digest: IdDigest,
): Promise<readonly Versioned<DeletionDocument>[]> {
  const deletions = await config.list<DeletionDocument>(DELETION);
  return Promise.all(
    deletions.map(async (deletion) => {
      const { id, value, version } = deletion;
      const users = value.receipt.users as readonly (DeletionReceipt["users"][number] & {
        readonly userIdSha256?: string;
      })[];
      if (users.every(({ userIdSha256 }) => userIdSha256 === undefined)) return deletion;
      const keyed = users.map(({ userIdSha256 = "", ...user }) => ({
        ...user,
        idHmac: digest.ofSha256(userIdSha256),
        kind: "any" as const,
        anonymousIds: 0,
        aliasesLeft: 0,
      }));
      return config.put(DELETION, id, { ...value, receipt: { ...value.receipt, users: keyed } }, version);
    }),
  );
}
