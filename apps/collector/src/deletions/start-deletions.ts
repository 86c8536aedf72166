import type { DeletionPlan } from "@sluice/control-api";
import { type ConfigStore, type Identity, VersionConflict, type Versioned } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Logger } from "../process/telemetry/logger.js";
import { DELETION, type DeletionDocument } from "./deletion.js";
import { idsOfUser } from "./ids-of-user.js";
import { Pauses } from "./pauses.js";
import { planDeletion } from "./plan-deletion.js";
import { runDeletion } from "./run-deletion.js";
import { type DeletionParts, emptyReceipt } from "./run-step.js";

export interface DeletionsOptions extends Omit<DeletionParts, "signal"> {
  readonly logger: Logger;
  readonly newId: () => string;
}

export interface Deletions {
  /** Stores a deletion in `into` (default: the store) and starts it. Resolves when it is stored. */
  create(
    identities: readonly Identity[],
    options: DeletionOptions,
    into?: Pick<ConfigStore, "put">,
  ): Promise<Versioned<DeletionDocument>>;
  /** Returns what a deletion would remove. Changes nothing. */
  plan(identities: readonly Identity[], options: DeletionOptions): Promise<DeletionPlan>;
  get(id: string): Promise<Versioned<DeletionDocument> | undefined>;
  /** Gives up the `delete` messages that are not delivered. Resolves with the changed deletion; undefined if none has the id. */
  giveUp(id: string): Promise<Versioned<DeletionDocument> | undefined>;
  /** Looks at the deliveries of a deletion's `delete` messages now. Call it after a retry. */
  wake(id: string): void;
  /** Oldest first. */
  list(): Promise<readonly Versioned<DeletionDocument>[]>;
  /** Stops running steps between two commits. The next start repeats them. */
  close(): Promise<void>;
}

export interface DeletionOptions {
  readonly suppress: boolean;
  /** Whether other user ids of the same profile are deleted too. */
  readonly includeAliases: boolean;
}

/** Starts running deletions, including unfinished ones from earlier starts. */
export async function startDeletions(options: DeletionsOptions): Promise<Deletions> {
  const { store, clock, profiles, digest } = options;
  const { config } = store;
  const closing = new AbortController();
  const { signal } = closing;
  const running = new Map<string, { readonly ended: Promise<void>; readonly pauses: Pauses }>();
  const run = (deletion: Versioned<DeletionDocument>): void => {
    const { id } = deletion;
    if (running.has(id)) return;
    const pauses = new Pauses(clock, signal);
    const ended = runDeletion(deletion, {
      ...options,
      signal,
      pause: (ms) => pauses.pause(ms),
    });
    running.set(id, { pauses, ended: ended.finally(() => running.delete(id)) });
  };
  const wake = (id: string): void => running.get(id)?.pauses.end();

  for (const deletion of await config.list<DeletionDocument>(DELETION))
    if (deletion.value.step !== "done") run(deletion);

  return {
    plan: (identities, { suppress, includeAliases }) =>
      planDeletion([...new Set(identities)], { suppress, includeAliases }, options),
    create: async (identities, { suppress, includeAliases }, into = config) => {
      const distinct = [...new Set(identities)];
      await profiles.counted();
      const users = await Promise.all(
        distinct.map(async (identity) => {
          const user = { identity, identities: [], aliases: [], sourceIds: [] };
          return { ...user, aliases: (await idsOfUser(user, includeAliases, profiles)).aliases };
        }),
      );
      const value: DeletionDocument = {
        createdAt: formatTime(clock.now()),
        suppress,
        includeAliases,
        status: "initialized",
        step: "suppress",
        users,
        receipt: emptyReceipt(distinct, digest),
      };
      const deletion = await into.put<DeletionDocument>(DELETION, options.newId(), value, 0);
      run(deletion);
      return deletion;
    },
    giveUp: async (id) => {
      const changed = await giveUp(config, id);
      wake(id);
      return changed;
    },
    wake,
    get: (id) => config.get<DeletionDocument>(DELETION, id),
    list: () => config.list<DeletionDocument>(DELETION),
    close: async () => {
      closing.abort();
      await Promise.all([...running.values()].map(({ ended }) => ended));
    },
  };
}

async function giveUp(config: ConfigStore, id: string): Promise<Versioned<DeletionDocument> | undefined> {
  for (;;) {
    const found = await config.get<DeletionDocument>(DELETION, id);
    if (found === undefined || found.value.step === "done") return found;
    try {
      return await config.put(DELETION, id, { ...found.value, givesUp: true }, found.version);
    } catch (error) {
      // The deletion itself stored the state of its deliveries at the same time.
      if (!(error instanceof VersionConflict)) throw error;
    }
  }
}
