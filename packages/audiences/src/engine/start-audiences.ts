import type { Identity, PendingMessage, SuppressedId } from "@sluice/event-log";
import {
  BEFORE_FIRST,
  DOCUMENT_KINDS,
  followInTime,
  NotInForce,
  type Offset,
  type Page,
  type PageRequest,
  type Store,
  type StoredMessage,
  SUPPRESSION,
  type SuppressionDocument,
  suppressedId,
} from "@sluice/event-log";
import type {
  AudienceEngineView,
  AudiencePreview,
  ComputedTraitDefinition,
  ComputedTraitPreview,
  Condition,
  MemberView,
  ProfileView,
  SyncView,
  UserValueView,
  ValueWhyView,
  WhyView,
} from "@sluice/protocol";
import type { CancelTimer, Clock } from "@sluice/resilience";
import { type Deferred, deferred } from "../definitions/deferred.js";
import {
  AUDIENCE,
  type AudienceDocument,
  COMPUTED_TRAIT,
  type ComputedTraitDocument,
  type Definition,
} from "../definitions/definitions.js";
import { inTurn } from "../definitions/in-turn.js";
import { type IdentifyingSource, identityPolicyOf } from "../profiles/identity-policy.js";
import { AUDIENCE_SOURCE_ID, owedBatches } from "../profiles/owed-message.js";
import type { RefusedJoin } from "../profiles/refused-joins.js";
import { setAsideView } from "../profiles/set-aside.js";
import type { AudienceEngine, EngineStatus, StepResult } from "./engine.js";
import { explainValue } from "./explain-value.js";
import { pressureGauge, restMs } from "./pace.js";
import type { Previewed, PreviewQuestion } from "./preview.js";
import type { Logger, Metrics } from "./telemetry.js";

/** The engine as others call it: in this thread or, behind the same names, in another. */
export interface Engine extends Pick<AudienceEngine, keyof AudienceEngine> {
  /** Calls `listener` whenever all that was counted is lost: the file was damaged, and a new one takes its place. Absent where that cannot be. */
  onEmptied?(listener: () => void): void;
}

export interface AudiencesOptions {
  readonly store: Pick<Store, "log" | "config" | "consumers">;
  readonly engine: Engine;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The key of the digests of suppressed ids. */
  readonly digestKey: Uint8Array;
  /** The busy part of the main thread's time since it was asked last, 0 to 1. Default: the event loop's. */
  readonly utilization?: () => number;
}

export interface Audiences {
  /**
   * To be called after a definition was changed: throws `NotInForce` while the engine does not work by this version of it; without
   * `version`, while the engine still has it though it was deleted. The change is tried again until it is taken up.
   */
  requireInForce(id: string, version?: number): void;
  /** Members and how far the sync is; undefined while the definition is not taken up. */
  figures(id: string): Promise<{ readonly size: number; readonly status: SyncView } | undefined>;
  members(audienceId: string, page: PageRequest): Promise<Page<MemberView> | undefined>;
  why(audienceId: string, userId: string): Promise<WhyView | undefined>;
  /** How a user's value of a computed trait came about. */
  whyValue(traitId: string, userId: string): Promise<ValueWhyView | undefined>;
  profile(userId: string): Promise<ProfileView | undefined>;
  /** Who would be in now. The condition is valid, and the audiences that it names exist. */
  preview(condition: Condition, signal: AbortSignal): Promise<AudiencePreview>;
  /** Who would have a value now, and which. The definition is valid. */
  previewTrait(definition: ComputedTraitDefinition, signal: AbortSignal): Promise<ComputedTraitPreview>;
  /**
   * Users with a value of a computed trait; undefined while it is not taken up. Where they are rare a page is what was found
   * within a second: it may be short, or empty, and have a next one.
   */
  values(traitId: string, page: PageRequest): Promise<Page<UserValueView> | undefined>;
  /** Resolves when all that was acknowledged before the call is counted, or after ten seconds of hurrying. */
  counted(): Promise<void>;
  /** How far the engine is, and what it does not count. */
  engine(): Promise<AudienceEngineView>;
  /** Which ids a message of the log wanted to be its user's, and are not. Nothing while it is not counted. */
  refusedJoins(message: StoredMessage): Promise<readonly RefusedJoin[]>;
  /** What goes with an id, and what a deletion of it would find in its profile. */
  identitiesOf(identity: Identity, includeAliases: boolean): ReturnType<AudienceEngine["identitiesOf"]>;
  /** Removes profiles with all that is kept and owed of them; nothing that was read from the log before comes after it. */
  forget(users: Parameters<AudienceEngine["forget"]>[0]): ReturnType<AudienceEngine["forget"]>;
  /** Forgets every profile, for development and tests. `clearLog` empties the log while nothing is read from it or added to it. */
  reset(clearLog: () => Promise<void>): Promise<void>;
  /** Rewrites the profiles' files so that what was removed is in none of their bytes. */
  compact(): Promise<void>;
  close(): Promise<void>;
}

/**
 * One reading of the log. Many messages, so that what several of them change of one user is written once; yet no more than the store reads
 * in a few milliseconds, for which commits wait.
 */
const READ_LIMITS = { messages: 4_000, bytes: 1_024 * 1_024 } as const;
/** How long an answer about one user waits for the messages before it to be counted, while they are hurried; then it tells what there is. */
const HURRIED_MS = 10_000;
/** The same for answers about many, for which nothing is hurried. */
const FRESH_MS = 1_000;
/** How long values are looked for to fill a page. */
const SOUGHT_MS = 1_000;
/**
 * How often the log is told how far the audiences are, in messages: retention keeps what they have not stored for good. Each time both
 * stores are synced, which in a rush takes turns with the commits that clients wait for.
 */
const REPORTED_MESSAGES = 100_000;
/** After so many, the profiles' files are made as small as they can be, once there is nothing else to do. */
const COMPACTED_MESSAGES = 10_000;
/** A timer does not notice that the clock was set: how late a window ends then, at most. */
const LONGEST_WAIT_MS = 10_000;
/** After a failure of the store. */
const PAUSE_MS = 1_000;
/** Kinds of documents that the engine works by. */
const TAKEN_UP: ReadonlySet<string> = new Set([AUDIENCE, COMPUTED_TRAIT, DOCUMENT_KINDS.source]);
/** Owed messages that are looked for in the log at once. */
const RECOVERED = 500;

/**
 * Audiences and computed traits as one more consumer of the log. The loop carries out what the engine says is to be done; what
 * the engine owes is appended to the log after the commit that made it, and again after a crash between the two, under
 * the same message ids.
 */
export async function startAudiences(options: AudiencesOptions): Promise<Audiences> {
  const { store, engine, clock, logger, metrics, digestKey } = options;
  const { log } = store;
  const closing = new AbortController();
  /** The log is read and taken by the engine within one turn, so that `forget` never comes between. */
  const turn = inTurn();
  let status: EngineStatus = { cursor: BEFORE_FIRST, hasWork: false, leftOut: 0, setAside: 0 };
  let isDefinitionStale = true;
  /** Whether messages may be owed that this process does not know to be in the log. */
  let isRecovering = true;
  let waiters: Deferred[] = [];
  /** The version of each definition that the engine works by. */
  let inForce: ReadonlyMap<string, number> = new Map();
  /** Why the definitions could not be taken up when that was tried last. */
  let cannotTakeUp: unknown;

  const gauge = pressureGauge(options.utilization ?? eventLoopUtilization());
  /** Messages that were appended to the log by audiences. */
  let ownMessages = 0;
  const behind = (): number => Math.max(0, log.head() - status.cursor);
  /** When the last message that was counted came. */
  let countedUpToMs: number | undefined;
  /** Up to when is known what happened: windows do not end for a user whose next event is in the log already. */
  const knownUpToMs = (): number => (behind() === 0 ? clock.now() : (countedUpToMs ?? clock.now()));

  const sent = metrics.counter(
    "sluice_audience_messages_total",
    "Messages made by audiences and computed traits",
  );
  const refusedJoins = metrics.counter(
    "sluice_refused_joins_total",
    "Identify and alias messages that asked for ids to be joined that were not, by source",
    ["source"],
  );
  metrics.gauge("sluice_audiences_behind", "Messages of the log that audiences have not come to", behind);
  metrics.gauge(
    "sluice_audiences_lag_seconds",
    "How long ago the message came that audiences counted last, while there are others: so much later windows end",
    () => (clock.now() - knownUpToMs()) / 1_000,
  );
  metrics.gauge(
    "sluice_computed_traits_left_out_events",
    "Events of which nothing is in the computed traits they belong to, because a limit was reached",
    () => status.leftOut,
  );

  const leftOutOfProfiles = metrics.counter(
    "sluice_profile_left_out_total",
    "Traits and ids that came and were left out of profiles that are full",
    ["kind"],
  );
  metrics.gauge(
    "sluice_audience_messages_set_aside",
    "Messages and requests that audiences do not count, because the engine failed over them again and again: see GET /api/v1/audience-engine",
    () => status.setAside,
  );

  // ── Waiting ──
  const readers = new Set<{
    readonly head: Offset;
    readonly isFresh: Deferred;
    readonly isHurried: boolean;
  }>();
  /** Ends the rest that is being taken. */
  let endRest = (): void => {};
  /** Resolves when all that was acknowledged before the call is counted: who has just sent a message finds it in the answer. */
  const fresh = async ({ isHurried }: { readonly isHurried: boolean }): Promise<void> => {
    const reader = { head: log.head(), isFresh: deferred(), isHurried };
    if (status.cursor >= reader.head) return;
    readers.add(reader);
    if (isHurried) endRest();
    const cancel = clock.after(isHurried ? HURRIED_MS : FRESH_MS, reader.isFresh.resolve);
    await reader.isFresh.promise;
    cancel();
    readers.delete(reader);
  };
  const isAwaited = (): boolean => waiters.length > 0 || [...readers].some((reader) => reader.isHurried);
  /** After work: leaves the machine to ingestion where that is busy. */
  const rest = async (workedMs: number): Promise<void> => {
    const pressure = gauge.read({ nowMs: clock.monotonic(), head: log.head(), ownMessages });
    const ms = restMs(workedMs, pressure, clock.now() - knownUpToMs(), isAwaited());
    if (ms === 0) return;
    const { promise, resolve } = deferred();
    endRest = resolve;
    const cancel = clock.after(ms, resolve);
    await promise;
    cancel();
    endRest = () => {};
  };
  let rouse = deferred();
  const wake = (): void => rouse.resolve();
  const stopListening = log.onAppend(wake);
  /** Resolves when the definitions are taken up as they were at the call. */
  const takenUp = (): Promise<void> => {
    const waiter = deferred();
    waiters.push(waiter);
    endRest();
    return waiter.promise;
  };
  /** Suppressed ids that changed, and of which the engine has not been told. */
  const suppressed = new Map<string, SuppressedId>();
  const stopWatching = store.config.watch(({ kind, id, document }) => {
    if (kind === SUPPRESSION) {
      suppressed.set(id, suppressedId(id, document?.value as SuppressionDocument | undefined));
      wake();
    }
    if (!TAKEN_UP.has(kind)) return;
    const isDefinition = kind === AUDIENCE || kind === COMPUTED_TRAIT;
    isDefinitionStale = true;
    wake();
    return isDefinition ? followInTime(takenUp(), clock, closing.signal) : undefined;
  });
  let isEmptied = false;
  engine.onEmptied?.(() => {
    isEmptied = true;
    status = { cursor: BEFORE_FIRST, hasWork: false, leftOut: 0, setAside: 0 };
    isDefinitionStale = true;
    isRecovering = true;
    inForce = new Map();
    wake();
  });
  const waitForWork = async (): Promise<void> => {
    let cancel: CancelTimer = () => {};
    if (status.wakeAtMs !== undefined)
      cancel = clock.after(Math.min(status.wakeAtMs - clock.now(), LONGEST_WAIT_MS), wake);
    await rouse.promise;
    cancel();
    rouse = deferred();
  };

  // ── Steps ──
  let reported: Offset = BEFORE_FIRST;
  let compacted: Offset = BEFORE_FIRST;
  const reportProgress = async (): Promise<void> => {
    const { cursor } = status;
    await engine.sync();
    await store.consumers.settle(AUDIENCE_SOURCE_ID, { cursor, outcomes: [], retries: [], attempts: [] });
    reported = cursor;
  };
  const append = async (owed: readonly PendingMessage[]): Promise<void> => {
    const last = owed.at(-1);
    if (last === undefined) return;
    isRecovering = true;
    await Promise.all(owedBatches(owed, clock.now()).map((batch) => log.append(batch)));
    engine.paid(last.seq);
    isRecovering = false;
    sent.inc([], owed.length);
    ownMessages += owed.length;
  };
  const take = async (result: StepResult): Promise<void> => {
    status = result.status;
    for (const [sourceId, messages] of result.refusedJoins) refusedJoins.inc([sourceId], messages);
    for (const reader of readers) if (status.cursor >= reader.head) reader.isFresh.resolve();
    const { leftOut, setAside } = result;
    if (leftOut.traits > 0) leftOutOfProfiles.inc(["trait"], leftOut.traits);
    if (leftOut.ids > 0) leftOutOfProfiles.inc(["id"], leftOut.ids);
    for (const given of setAside)
      logger.warn("audiences failed over a message again and again and do not count it", {
        ...setAsideView(given),
      });
    // As long as older messages may be owed these wait with them: `recover` appends all of them in order.
    if (!isRecovering) await append(result.owed);
  };
  /** What a crash or a failed append left owed. Looked for first: the log's memory of ids ends with its dedupe window. */
  const recover = async (): Promise<void> => {
    for (;;) {
      const owed = await engine.owed(RECOVERED);
      if (owed.length === 0) break;
      const missing: PendingMessage[] = [];
      for (const one of owed) {
        const { messageId } = JSON.parse(one.message) as { readonly messageId: string };
        const found = await log.find({ messageId, sourceId: AUDIENCE_SOURCE_ID }, { limit: 1 });
        if (found.items.length === 0) missing.push(one);
      }
      await append(missing);
      engine.paid(owed.at(-1)?.seq ?? 0);
      await engine.settle();
    }
    isRecovering = false;
  };
  const tellSuppressed = (): void => {
    if (suppressed.size === 0) return;
    engine.suppress({ key: digestKey, ids: [...suppressed.values()] });
    suppressed.clear();
  };
  const takeUp = async (): Promise<void> => {
    isDefinitionStale = false;
    const waiting = waiters;
    waiters = [];
    try {
      const sources = await store.config.list<IdentifyingSource>(DOCUMENT_KINDS.source);
      engine.allowJoins(sources.map(({ id, value }) => [id, identityPolicyOf(value)]));
      const { definitions, versions } = await readDefinitions(store.config);
      await take(await engine.define(definitions, knownUpToMs()));
      inForce = versions;
      cannotTakeUp = undefined;
      for (const waiter of waiting) waiter.resolve();
    } catch (error) {
      isDefinitionStale = true;
      cannotTakeUp = error;
      for (const waiter of waiting) waiter.reject(error);
      throw error;
    }
  };
  /** One of everything that is to be done; false when there was nothing. */
  const pass = async (): Promise<boolean> => {
    // Definitions first: a change waits for them, and the log may fail to tell what is owed. What is read next may be of a source that
    // was made meanwhile: then its setting is known.
    while (isDefinitionStale || isRecovering) await (isDefinitionStale ? takeUp() : recover());
    tellSuppressed();
    let isBusy = false;
    const batches = await log.read(status.cursor, READ_LIMITS);
    const last = batches.at(-1);
    if (last !== undefined) {
      await take(await engine.consume(batches, clock.now()));
      countedUpToMs = last.receivedAtMs;
      if (status.cursor - reported > REPORTED_MESSAGES) await reportProgress();
      isBusy = true;
    }
    if (status.wakeAtMs !== undefined && status.wakeAtMs <= knownUpToMs()) {
      await take(await engine.tick(knownUpToMs()));
      isBusy = true;
    }
    if (status.historyAfter !== undefined) {
      const past = await log.read(status.historyAfter, READ_LIMITS);
      await take(await engine.readHistory(past, knownUpToMs()));
      isBusy = true;
    }
    // Not instead of it: a long history must hold up neither schedules nor other definitions.
    if (status.hasWork) {
      await take(await engine.work(knownUpToMs()));
      isBusy = true;
    }
    if (!isBusy) {
      await engine.settle();
      if (status.cursor - compacted > COMPACTED_MESSAGES) {
        await engine.compact();
        compacted = status.cursor;
        await reportProgress();
      }
    }
    return isBusy;
  };

  const run = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      try {
        const startedMs = clock.monotonic();
        const wasBusy = await turn(pass);
        if (closing.signal.aborted) return;
        if (wasBusy) await rest(clock.monotonic() - startedMs);
        else await waitForWork();
      } catch (error) {
        if (closing.signal.aborted) return;
        // What the engine had in memory may be gone; what it committed is not.
        isRecovering = true;
        isDefinitionStale = true;
        logger.error("audiences could not go on", { error, againInMs: PAUSE_MS });
        await clock.sleep(PAUSE_MS, closing.signal).catch(() => {});
      }
    }
  };

  const preview = async (
    question: PreviewQuestion,
    signal: AbortSignal,
  ): Promise<Previewed & { readonly tookMs: number }> => {
    await fresh({ isHurried: true });
    const startedMs = clock.monotonic();
    const { preview: id, needsHistory, upTo } = await engine.previewBegin(question, knownUpToMs());
    try {
      let cursor: Offset = BEFORE_FIRST;
      while (needsHistory && cursor < upTo) {
        signal.throwIfAborted();
        cursor = await engine.previewHistory(id, await log.read(cursor, READ_LIMITS));
      }
      for (;;) {
        signal.throwIfAborted();
        const found = await engine.previewScan(id);
        if (found !== undefined) return { ...found, tookMs: clock.monotonic() - startedMs };
      }
    } finally {
      engine.previewEnd(id);
    }
  };

  for (const { id, value } of await store.config.list<SuppressionDocument>(SUPPRESSION))
    suppressed.set(id, suppressedId(id, value));
  tellSuppressed();
  await turn(takeUp).catch((error) => {
    if (!isEmptied) throw error;
    // Profiles that turned out to be damaged were set aside: now there is a new file.
    return turn(takeUp);
  });
  gauge.read({ nowMs: clock.monotonic(), head: log.head(), ownMessages });
  reported = (await store.consumers.open(AUDIENCE_SOURCE_ID, status.cursor)).cursor;
  compacted = status.cursor;
  const running = run();

  return {
    requireInForce: (id, version) => {
      const known = inForce.get(id);
      if (version === undefined ? known === undefined : known !== undefined && known >= version) return;
      const reason = cannotTakeUp instanceof Error ? cannotTakeUp.message : "audiences have not come to it";
      throw new NotInForce(id, reason, cannotTakeUp);
    },
    figures: async (id) => {
      await fresh({ isHurried: false });
      const found = (await engine.figures(knownUpToMs())).find((one) => one.id === id);
      return found === undefined ? undefined : { ...found, status: { ...found.status, behind: behind() } };
    },
    members: async (audienceId, page) => {
      await fresh({ isHurried: false });
      return engine.members(audienceId, page);
    },
    why: async (audienceId, userId) => {
      await fresh({ isHurried: true });
      return engine.why(audienceId, userId, knownUpToMs());
    },
    whyValue: async (traitId, userId) => {
      await fresh({ isHurried: true });
      const reason = await engine.whyValue(traitId, userId, knownUpToMs());
      return reason === undefined ? undefined : explainValue(log, reason);
    },
    profile: async (userId) => {
      await fresh({ isHurried: true });
      return engine.profile(userId);
    },
    preview: (condition, signal) => preview({ kind: AUDIENCE, condition }, signal),
    previewTrait: async (definition, signal) => {
      const { sample, ...figures } = await preview({ kind: COMPUTED_TRAIT, definition }, signal);
      return { ...figures, sample: sample.map((user) => ({ ...user, value: user.value })) };
    },
    values: async (traitId, { limit, cursor }) => {
      await fresh({ isHurried: false });
      const untilMs = clock.monotonic() + SOUGHT_MS;
      const items: UserValueView[] = [];
      for (let after = cursor; ; ) {
        const wanted = { limit: limit - items.length, ...(after === undefined ? {} : { cursor: after }) };
        const page = await engine.values(traitId, wanted);
        if (page === undefined) return undefined;
        items.push(...page.items);
        after = page.nextCursor;
        if (after === undefined) return { items };
        if (items.length === limit || clock.monotonic() >= untilMs) return { items, nextCursor: after };
      }
    },
    counted: () => fresh({ isHurried: true }),
    engine: async () => ({ behind: behind(), setAside: (await engine.setAside()).map(setAsideView) }),
    refusedJoins: ({ message: { type, userId, anonymousId, previousId }, sourceId, offset }) =>
      engine.refusedJoins({ type, userId, anonymousId, previousId }, { sourceId, offset }),
    identitiesOf: (identity, includeAliases) => engine.identitiesOf(identity, includeAliases),
    forget: (users) => turn(() => engine.forget(users, clock.now())),
    reset: (clearLog) =>
      turn(async () => {
        await clearLog();
        while (await engine.forgetSome(clock.now())) {
          // One step after the other, until none is left.
        }
      }),
    compact: () => engine.compact(),
    close: async () => {
      closing.abort();
      endRest();
      for (const reader of readers) reader.isFresh.resolve();
      stopListening();
      stopWatching();
      wake();
      await running;
      for (const waiter of waiters) waiter.reject(new Error("the collector is closing"));
      await engine.close();
    },
  };
}

/** Answers the busy part of this thread's time since it was asked last. */
function eventLoopUtilization(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}

async function readDefinitions(
  config: Store["config"],
): Promise<{ readonly definitions: readonly Definition[]; readonly versions: ReadonlyMap<string, number> }> {
  const [audiences, computed] = await Promise.all([
    config.list<AudienceDocument>(AUDIENCE),
    config.list<ComputedTraitDocument>(COMPUTED_TRAIT),
  ]);
  return {
    definitions: [
      ...computed.map(({ id, value }): Definition => ({ id, kind: COMPUTED_TRAIT, document: value })),
      ...audiences.map(({ id, value }): Definition => ({ id, kind: AUDIENCE, document: value })),
    ],
    versions: new Map([...computed, ...audiences].map(({ id, version }) => [id, version])),
  };
}
