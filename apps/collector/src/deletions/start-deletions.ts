import type { DeletionPlan } from "@sluice/control-api";
import type { ConfigStore, Identity, Versioned } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Logger } from "../process/telemetry/logger.js";
import { DELETION, type DeletionDocument } from "./deletion.js";
import { withKeyedReceipts } from "./keyed-receipts.js";
import { planDeletion } from "./plan-deletion.js";
import { runDeletion } from "./run-deletion.js";
import { type DeletionParts, emptyReceipt } from "./run-step.js";

export interface DeletionsOptions extends Omit<DeletionParts, "signal"> {
  readonly logger: Logger;
  /** Returns a new id. */
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
  const running = new Map<string, Promise<void>>();
  const run = (deletion: Versioned<DeletionDocument>): void => {
    if (running.has(deletion.id)) return;
    const run = runDeletion(deletion, { ...options, signal: closing.signal });
    running.set(
      deletion.id,
      run.finally(() => running.delete(deletion.id)),
    );
  };

  for (const deletion of await withKeyedReceipts(config, digest))
    if (deletion.value.step !== "done") run(deletion);

  return {
    plan: (identities, { suppress, includeAliases }) =>
      planDeletion([...new Set(identities)], { suppress, includeAliases }, options),
    create: async (identities, { suppress, includeAliases }, into = config) => {
      const distinct = [...new Set(identities)];
      await profiles.counted();
      const users = await Promise.all(
        distinct.map(async (identity) => {
          const { aliases } = await profiles.identitiesOf(identity, includeAliases);
          return { identity, identities: [], aliases, sourceIds: [] };
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
    get: (id) => config.get<DeletionDocument>(DELETION, id),
    list: () => config.list<DeletionDocument>(DELETION),
    close: async () => {
      closing.abort();
      await Promise.all(running.values());
    },
  };
}
