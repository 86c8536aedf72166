import type { DeletionPlan, DeletionView, OperationView, ReplayView } from "@sluice/control-api";
import { STEPS, type Step } from "../../deletions/deletion.js";
import { joinIds, type PartId } from "./qualified-ids.js";

/** Operations and deletions that run in several partitions, as one. */

interface Run<V> {
  readonly partition: number;
  readonly view: V;
}

/** The id that all parts have. Parts that were started by different requests keep ids of their own. */
export function idOfRuns(runs: readonly Run<{ readonly id: string }>[]): string {
  const [first] = runs;
  if (first !== undefined && runs.every(({ view: { id } }) => id === first.view.id)) return first.view.id;
  return joinIds(runs.map(({ partition, view: { id } }): PartId => ({ partition, id })));
}

/** The first of these that a part is in holds for the whole. */
const OPERATION_STATES: readonly OperationView["state"][] = [
  "selecting",
  "running",
  "failed",
  "cancelled",
  "finished",
];

export function mergeOperations(runs: readonly Run<OperationView>[]): OperationView {
  const views = runs.map(({ view }) => view);
  const [first] = views as [OperationView];
  const sum = (of: (view: OperationView) => number): number =>
    views.reduce((total, view) => total + of(view), 0);
  const state = OPERATION_STATES.find((one) => views.some((view) => view.state === one)) ?? first.state;
  const isOver = views.every(({ finishedAt }) => finishedAt !== undefined);
  const { finishedAt: _, error: _error, ...shown } = first;
  const error = errorIn(runs);
  return {
    ...shown,
    id: idOfRuns(runs),
    state,
    ...(isOver
      ? {
          finishedAt: views
            .map(({ finishedAt }) => finishedAt as string)
            .sort()
            .at(-1) as string,
        }
      : {}),
    ...(first.ids === undefined ? {} : { ids: sum(({ ids = 0 }) => ids) }),
    total: sum(({ total }) => total),
    done: sum(({ done }) => done),
    failed: sum(({ failed }) => failed),
    waiting: sum(({ waiting }) => waiting),
    results: {
      delivered: sum(({ results }) => results.delivered),
      failed: sum(({ results }) => results.failed),
      discarded: sum(({ results }) => results.discarded),
      skipped: sum(({ results }) => results.skipped),
    },
    causes: mergeCauses(views.flatMap(({ causes }) => causes)),
    ratePerSecond: Math.round(sum(({ ratePerSecond }) => ratePerSecond) * 10) / 10,
    perSecond: sum(({ perSecond }) => perSecond),
    ...(error === undefined ? {} : { error }),
  };
}

/** The first error, with the partition in which it happened. */
function errorIn(runs: readonly Run<{ readonly error?: string }>[]): string | undefined {
  const failed = runs.find(({ view }) => view.error !== undefined);
  return failed && `Partition ${failed.partition}: ${failed.view.error}`;
}

function mergeCauses(causes: OperationView["causes"]): OperationView["causes"] {
  const merged = new Map<string, OperationView["causes"][number]>();
  for (const one of causes)
    merged.set(one.cause, { ...one, count: one.count + (merged.get(one.cause)?.count ?? 0) });
  return [...merged.values()].sort((one, other) => other.count - one.count);
}

export function mergeReplays(runs: readonly Run<ReplayView>[]): ReplayView {
  const count = runs.reduce((total, { view }) => total + view.count, 0);
  const started = runs.flatMap(({ partition, view: { id } }) =>
    id === undefined ? [] : [{ partition, view: { id } }],
  );
  return { ...(started.length === 0 ? {} : { id: idOfRuns(started) }), count };
}

/** The first of these that a part is in holds for the whole: it is finished when the last part is. */
const DELETION_STATES: readonly DeletionView["status"][] = [
  "failed",
  "initialized",
  "running",
  "undelivered",
  "finished",
];

export function mergeDeletions(runs: readonly Run<DeletionView>[]): DeletionView {
  const views = runs.map(({ view }) => view);
  const status = DELETION_STATES.find((one) => views.some((view) => view.status === one)) ?? "running";
  const [slowest] = views
    .filter((view) => view.status === status)
    .sort((one, other) => STEPS.indexOf(one.step as Step) - STEPS.indexOf(other.step as Step)) as [
    DeletionView,
  ];
  const receipts = views.flatMap(({ receipt }) => receipt ?? []);
  const { receipt: _, aliases: _aliases, error: _error, ...shown } = slowest;
  const error = errorIn(runs);
  const aliases = mergeAliases(views.flatMap((view) => view.aliases ?? []));
  return {
    ...shown,
    id: idOfRuns(runs),
    status,
    ...(error === undefined ? {} : { error }),
    ...(aliases.length === 0 ? {} : { aliases }),
    ...(receipts.length === 0 ? {} : { receipt: mergeReceipts(receipts, receipts.length === runs.length) }),
  };
}

type Receipt = NonNullable<DeletionView["receipt"]>;

/** Times are those of the last part, and absent until every part has one. */
function mergeReceipts(receipts: readonly Receipt[], areAll: boolean): Receipt {
  const last = (name: "purgedAt" | "erasedAt" | "tracesErasedAt" | "gaveUpAt") => {
    const times = receipts.flatMap((receipt) => receipt[name] ?? []).sort();
    const isKnown = name === "gaveUpAt" ? times.length > 0 : areAll && times.length === receipts.length;
    return isKnown ? { [name]: times.at(-1) as string } : {};
  };
  return {
    users: mergeUsers(receipts.flatMap(({ users }) => users)),
    deleteMessages: receipts.flatMap(({ deleteMessages }) => deleteMessages),
    ...last("purgedAt"),
    ...last("erasedAt"),
    ...last("tracesErasedAt"),
    ...last("gaveUpAt"),
  };
}

function mergeUsers(users: Receipt["users"]): Receipt["users"] {
  const merged = new Map<string, Receipt["users"][number]>();
  for (const one of users) {
    const known = merged.get(one.idHmac);
    merged.set(
      one.idHmac,
      known === undefined
        ? one
        : {
            ...known,
            messages: known.messages + one.messages,
            attempts: known.attempts + one.attempts,
            retries: known.retries + one.retries,
            profile: known.profile || one.profile,
            // Partition 0 knows the profiles, whoever asks.
            audienceMemberships: Math.max(known.audienceMemberships, one.audienceMemberships),
            anonymousIds: Math.max(known.anonymousIds, one.anonymousIds),
            ...(known.aliases === undefined && one.aliases === undefined
              ? {}
              : { aliases: Math.max(known.aliases ?? 0, one.aliases ?? 0) }),
            aliasesLeft: Math.max(known.aliasesLeft, one.aliasesLeft),
          },
    );
  }
  return [...merged.values()];
}

function mergeAliases(all: NonNullable<DeletionView["aliases"]>): NonNullable<DeletionView["aliases"]> {
  const merged = new Map<string, Set<string>>();
  for (const { userId, aliases } of all)
    merged.set(userId, new Set([...(merged.get(userId) ?? []), ...aliases]));
  return [...merged].map(([userId, aliases]) => ({ userId, aliases: [...aliases] }));
}

export function mergePlans(plans: readonly DeletionPlan[]): DeletionPlan {
  const merged = new Map<string, DeletionPlan["users"][number]>();
  for (const one of plans.flatMap(({ users }) => users)) {
    const key = one.userId === undefined ? `a:${one.anonymousId}` : `u:${one.userId}`;
    const known = merged.get(key);
    merged.set(key, known === undefined ? one : mergePlannedUser(known, one));
  }
  return { ...(plans[0] as DeletionPlan), users: [...merged.values()] };
}

type PlannedUser = DeletionPlan["users"][number];

function mergePlannedUser(one: PlannedUser, other: PlannedUser): PlannedUser {
  return {
    ...one,
    messages: one.messages + other.messages,
    messagesBySource: mergeBySource([...one.messagesBySource, ...other.messagesBySource]),
    attempts: one.attempts + other.attempts,
    retries: one.retries + other.retries,
    profile: one.profile || other.profile,
    // Partition 0 knows the profiles, whoever asks.
    audienceMemberships: Math.max(one.audienceMemberships, other.audienceMemberships),
    anonymousIds: [...new Set([...one.anonymousIds, ...other.anonymousIds])],
    aliases: [...new Set([...one.aliases, ...other.aliases])],
  };
}

/** A source may be spread over several partitions. */
function mergeBySource(all: PlannedUser["messagesBySource"]): PlannedUser["messagesBySource"] {
  const merged = new Map<string, PlannedUser["messagesBySource"][number]>();
  for (const one of all)
    merged.set(one.sourceId, { ...one, messages: one.messages + (merged.get(one.sourceId)?.messages ?? 0) });
  return [...merged.values()];
}
