import type { DeletionPlan } from "@sluice/control-api";
import {
  type ConfigStore,
  type Identity,
  idOf,
  isUserIdentity,
  type Offset,
  type Store,
  VersionConflict,
  type Versioned,
} from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Logger } from "../process/telemetry/logger.js";
import { devicesOf, idsOfUser, messagesOf } from "./concerned.js";
import { DELETION, type DeletionDocument } from "./deletion.js";
import { runDeletion } from "./run-deletion.js";
import { type DeletionParts, emptyReceipt } from "./run-step.js";

/** Pauses that somebody can end early. */
class Pauses {
  readonly #clock: Pick<Clock, "sleep">;
  readonly #signal: AbortSignal;
  /** Ends the present pause, or the next one. */
  #early = new AbortController();

  constructor(clock: Pick<Clock, "sleep">, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Resolves after `ms`, or early after `end` or when the signal aborts. */
  async pause(ms: number): Promise<void> {
    const early = this.#early.signal;
    await this.#clock.sleep(ms, AbortSignal.any([this.#signal, early])).catch(() => {});
    if (early.aborted) this.#early = new AbortController();
  }

  end(): void {
    this.#early.abort();
  }
}

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

/** Returns what a deletion would remove at this moment. Changes nothing. */
async function planDeletion(
  identities: readonly Identity[],
  options: { readonly suppress: boolean; readonly includeAliases: boolean },
  { store, profiles }: Pick<DeletionParts, "store" | "profiles">,
): Promise<DeletionPlan> {
  await profiles.counted();
  const users: DeletionPlan["users"][number][] = [];
  for (const identity of identities) {
    const found = await profiles.identitiesOf(identity, options.includeAliases);
    const { profile, audienceMemberships, aliases } = found;
    const bySource = new Map<string, number>();
    const total = { messages: 0, attempts: 0, retries: 0 };
    for await (const { sourceId, offset } of messagesOf(found.identities, store.log)) {
      bySource.set(sourceId, (bySource.get(sourceId) ?? 0) + 1);
      const { attempts, retries } = await deliveriesOf(offset, store);
      total.messages += 1;
      total.attempts += attempts;
      total.retries += retries;
    }
    users.push({
      ...(isUserIdentity(identity) ? { userId: idOf(identity) } : { anonymousId: idOf(identity) }),
      ...total,
      messagesBySource: Array.from(bySource, ([sourceId, messages]) => ({ sourceId, messages })),
      profile,
      audienceMemberships,
      anonymousIds: devicesOf(identity, found),
      aliases,
    });
  }
  return { dryRun: true, ...options, users };
}

/** Counts the stored attempts and retries of a message. */
async function deliveriesOf(
  offset: Offset,
  { consumers }: Pick<Store, "consumers">,
): Promise<{ attempts: number; retries: number }> {
  const deliveries = await consumers.outcomesOf(offset);
  const attempts = await Promise.all(
    deliveries.map(async ({ consumerId }) => (await consumers.attemptsOf(consumerId, offset)).length),
  );
  return {
    attempts: attempts.reduce((sum, count) => sum + count, 0),
    retries: deliveries.filter(({ retry }) => retry !== undefined).length,
  };
}
