import type { DeletionPlan } from "@sluice/control-api";
import { type ConfigStore, type Identity, VersionConflict, type Versioned } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Logger } from "../process/telemetry/logger.js";
import { DELETION, type DeletionDocument } from "./deletion.js";
import { idsOfUser } from "./ids-of-user.js";
import { type DeletionFindings, findingsOf } from "./other-partitions.js";
import { Pauses } from "./pauses.js";
import { planDeletion } from "./plan-deletion.js";
import { runDeletion } from "./run-deletion.js";
import { type DeletionParts, emptyReceipt } from "./run-step.js";

export interface DeletionsOptions extends Omit<DeletionParts, "signal"> {
  readonly logger: Logger;
  /** Returns a new id, or that of a run that other partitions have too. */
  readonly newId: (run: string | undefined) => string;
  /** Stops running steps as `close` does. Default: never. */
  readonly ending?: AbortSignal;
}

export interface Deletions {
  /** Stores a deletion in `into` (default: the store) and starts it. Resolves when it is stored. */
  create(
    identities: readonly Identity[],
    options: DeletionOptions & { readonly joined?: readonly JoinedIds[] },
    into?: Pick<ConfigStore, "put">,
  ): Promise<Versioned<DeletionDocument>>;
  /** Returns what a deletion would remove. Changes nothing. */
  plan(identities: readonly Identity[], options: DeletionOptions): Promise<DeletionPlan>;
  get(id: string): Promise<Versioned<DeletionDocument> | undefined>;
  /** Gives up the `delete` messages that are not delivered. Resolves with the changed deletion; undefined if none has the id. */
  giveUp(id: string): Promise<Versioned<DeletionDocument> | undefined>;
  /** Looks at the deliveries of a deletion's `delete` messages now. Call it after a retry. */
  wake(id: string): void;
  /** What this partition has found of a deletion, for the others in which it runs. */
  findings(id: string): Promise<DeletionFindings>;
  /** Oldest first. */
  list(): Promise<readonly Versioned<DeletionDocument>[]>;
  /** Stops running steps between two commits. The next start repeats them. */
  close(): Promise<void>;
}

/** Ids that belong to a requested one, as far as somebody else knows. */
export interface JoinedIds {
  readonly identity: Identity;
  /** They are deleted together with it. */
  readonly identities: readonly Identity[];
  readonly aliases: readonly string[];
}

export interface DeletionOptions {
  readonly suppress: boolean;
  /** Whether other user ids of the same profile are deleted too. */
  readonly includeAliases: boolean;
  /** It runs in other partitions of the cluster, too. */
  readonly run?:
    | {
        readonly name: string;
        readonly createdAtMs: number;
        /** By place among the ids: the place of the user to whom another partition knows the id as joined. */
        readonly joined?: ReadonlyMap<number, number>;
      }
    | undefined;
}

/** Starts running deletions, including unfinished ones from earlier starts. */
export async function startDeletions(options: DeletionsOptions): Promise<Deletions> {
  const { store, clock, profiles, digest, ending } = options;
  const { config } = store;
  const closing = new AbortController();
  const signal = ending === undefined ? closing.signal : AbortSignal.any([closing.signal, ending]);
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
    create: async (identities, { suppress, includeAliases, joined = [], run: shared }, into = config) => {
      const distinct = [...new Set(identities)];
      await profiles.counted();
      const told = new Map(joined.map((one) => [one.identity, one]));
      const users = await Promise.all(
        distinct.map(async (identity) => {
          const { identities: known = [], aliases = [] } = told.get(identity) ?? {};
          const user = { identity, identities: known, aliases, sourceIds: [] };
          return { ...user, aliases: (await idsOfUser(user, includeAliases, profiles)).aliases };
        }),
      );
      const value: DeletionDocument = {
        createdAt: formatTime(shared?.createdAtMs ?? clock.now()),
        suppress,
        includeAliases,
        status: "initialized",
        step: "suppress",
        users,
        receipt: emptyReceipt(distinct, digest),
      };
      const deletion = await into.put<DeletionDocument>(DELETION, options.newId(shared?.name), value, 0);
      run(deletion);
      return deletion;
    },
    giveUp: async (id) => {
      const changed = await giveUp(config, id);
      wake(id);
      return changed;
    },
    wake,
    findings: async (id) => findingsOf(await config.get<DeletionDocument>(DELETION, id)),
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
