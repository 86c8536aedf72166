import { randomBytes } from "node:crypto";
import type { PendingMessage, ProfileStore } from "@sluice/event-log";
import {
  anonymousIdentity,
  BEFORE_FIRST,
  covers,
  type Identity,
  idDigest,
  identityOf,
  lastMessageIndex,
  type Offset,
  offsetAt,
  type Page,
  type PageRequest,
  readPosition,
  type SpanIndex,
  StorageUnavailable,
  type StoredBatch,
  type SuppressedId,
  spanIndex,
  userIdentity,
  writePosition,
} from "@sluice/event-log";
import type {
  MemberView,
  ProfileView,
  SyncView,
  UncheckedMessage,
  UserValueView,
  WhyView,
} from "@sluice/protocol";
import { formatTime } from "@sluice/protocol";
import type { Accumulation } from "../conditions/accumulate.js";
import { aspectKey, nextChangeMs } from "../conditions/aspect.js";
import { explain } from "../conditions/evaluate.js";
import { countOf, lastMs, type Tally } from "../conditions/tally.js";
import {
  type AspectProgress,
  afterSync,
  type DefinitionState,
  isFlushDue,
  nextWakeMs,
  syncView,
} from "../definitions/definition-state.js";
import { AUDIENCE, COMPUTED_TRAIT, type Definition } from "../definitions/definitions.js";
import { inTurn } from "../definitions/in-turn.js";
import type { Plan } from "../definitions/plan.js";
import {
  type Attempt,
  beginMessage,
  beginRequest,
  isOneByOne,
  nextAttempt,
  type Span,
} from "../profiles/attempt.js";
import { BoundedMap } from "../profiles/bounded-map.js";
import { identificationOf, identitiesIn } from "../profiles/identities.js";
import type { IdentityPolicy } from "../profiles/identity-policy.js";
import { AUDIENCE_SOURCE_ID } from "../profiles/owed-message.js";
import { decodeProfile, type Profile, userFields } from "../profiles/profile.js";
import type { LeftOutOfProfile } from "../profiles/profile-bounds.js";
import { type RefusedJoin, refusedJoins } from "../profiles/refused-joins.js";
import { SCANNED_BYTES } from "../profiles/scanned-bytes.js";
import { isSetAside, MOST_SET_ASIDE, readable, type SetAside } from "../profiles/set-aside.js";
import { type Numbers, type Remembered, Step } from "../profiles/step.js";
import {
  accumulationOf,
  aspectsOf,
  edited,
  goLive,
  historyRead,
  isResendDue,
  isScanned,
  newState,
  planOf,
  promote,
} from "./definition-phases.js";
import type { EngineState } from "./engine-state.js";
import { reasonOf, type ValueReason } from "./explain-value.js";
import { forgetProfile, idsOf, namesProfile, type UserIds } from "./forget-user.js";
import { keepUpWith, readingOf, release, setDue, tellAdded } from "./keep-up.js";
import { type Previewed, type Previewer, type PreviewQuestion, previewer } from "./preview.js";
import { viewOf } from "./profile-view.js";
import { type IsNeeded, type LogMessage, readMessages } from "./read-messages.js";
import {
  type AddressedMessage,
  addressed,
  fetchFor,
  isFetched,
  removeProfile,
  settleDue,
  takeMessage,
  takeOccurrence,
} from "./take-message.js";
import { eventsOf } from "./track-events.js";

/** Profiles of one step of a sync. */
const STEP_PROFILES = 500;
/** What remembered profiles may take of the heap, about; their ids a quarter of it. */
const REMEMBERED_BYTES = 48 * 1_024 * 1_024;
/** Profiles in which one reading looks for values. */
const READ_PROFILES = 2_000;

/** Documents of the engine: see `#attempted` and `#giveUp`. */
const ATTEMPT = "attempt";
const SET_ASIDE = "set-aside";

function randomNonce(): string {
  return randomBytes(6).toString("hex");
}

function lastOf(batch: StoredBatch): Offset {
  return offsetAt(batch.first, lastMessageIndex(batch));
}

/** A message's id, where it is known: it may not be read when nothing more is asked of the message. */
function idOf({ message, offset }: LogMessage, { first, madeIds }: StoredBatch): { messageId?: string } {
  const id = new Map(madeIds).get(offset - first) ?? message.messageId;
  return typeof id === "string" ? { messageId: id } : {};
}

function neededBy({ aspectsByEvent }: Plan): IsNeeded {
  return (type, event) =>
    type === "identify" || type === "alias" || (type === "track" && aspectsByEvent.has(event as string));
}

/** A definition's state as it is stored; an older version did not count what is left out. */
function asState(json: string): DefinitionState {
  return { leftOut: { users: 0, events: 0 }, ...(JSON.parse(json) as Omit<DefinitionState, "leftOut">) };
}

/** What there is to do, as far as the engine knows. */
export interface EngineStatus {
  /** Messages of the log at or before it are counted. */
  readonly cursor: Offset;
  /** History is to be read after it, by `readHistory`. */
  readonly historyAfter?: Offset;
  /** Whether `work` has something to do now. */
  readonly hasWork: boolean;
  /** When `tick` or `work` has something to do. */
  readonly wakeAtMs?: number;
  /** Events of which nothing is in the computed traits they belong to, because a limit was reached. */
  readonly leftOut: number;
  /** How many of the messages that are not counted, because the engine failed over them, are remembered. */
  readonly setAside: number;
}

/** What a step leaves to its caller: messages that are to be appended to the log, in order, and `paid` afterwards. */
export interface StepResult {
  readonly owed: readonly PendingMessage[];
  /** What was left out of profiles that are full. */
  readonly leftOut: Readonly<LeftOutOfProfile>;
  /** Messages that were given up. */
  readonly setAside: readonly SetAside[];
  readonly status: EngineStatus;
  /** Messages that asked for ids to be joined that were not, by source. */
  readonly refusedJoins: readonly (readonly [sourceId: string, messages: number])[];
}

export interface DefinitionFigures {
  readonly id: string;
  readonly size: number;
  readonly status: SyncView;
}

export interface Forgotten {
  /** Whether there is (or was) a profile. */
  readonly profile: boolean;
  /** Audiences that it is (or was) a member of. */
  readonly audienceMemberships: number;
}

/** What the engine cannot find out by itself about ids whose messages are not counted. */
export interface SuppressedIds {
  /** The key of their digests. */
  readonly key: Uint8Array;
  readonly ids: readonly SuppressedId[];
}

export interface AudienceEngineOptions {
  /** Profiles kept in memory, as far as they fit into 48 MB. Default: 20,000. */
  readonly rememberedProfiles?: number;
  /** Makes the name that ids of messages of a new file of profiles begin with. Default: 12 random characters. */
  readonly newNonce?: () => string;
}

/**
 * Keeps profiles, memberships and computed traits up to date with the log and with time. It reads no clock and no log: it is given
 * both. Each call that changes something is one step, committed with its cursor, or without effect: when a commit fails the call
 * rejects and may be repeated. Calls wait for one another. Arguments and answers are plain data, so that it can live in a thread.
 */
export class AudienceEngine {
  readonly #store: ProfileStore;
  readonly #remembered: Remembered;
  readonly #newNonce: () => string;
  readonly #inTurn = inTurn();
  readonly #previews = new Map<number, Previewer>();
  #suppressed: SpanIndex | undefined;
  #policies: ReadonlyMap<string, IdentityPolicy> = new Map();
  #nextPreview = 1;
  #loaded: EngineState | undefined;
  /** Messages up to it are in the log; stored with the next commit. */
  #paidUpTo: number | undefined;
  /** Messages that were begun and not finished. */
  #attempt: Attempt | undefined;
  #isStarted = false;

  constructor(
    store: ProfileStore,
    { rememberedProfiles = 20_000, newNonce = randomNonce }: AudienceEngineOptions = {},
  ) {
    this.#store = store;
    this.#newNonce = newNonce;
    this.#remembered = {
      profiles: new BoundedMap({ entries: rememberedProfiles, bytes: REMEMBERED_BYTES }),
      identities: new BoundedMap({ entries: rememberedProfiles * 2, bytes: REMEMBERED_BYTES / 4 }),
    };
  }

  /**
   * Takes up the definitions as they are now: what is new is made ready, what changed is evaluated anew, what is gone is forgotten.
   */
  define(definitions: readonly Definition[], nowMs: number): Promise<StepResult> {
    return this.#step(nowMs, (step, loaded) => this.#define(step, loaded, definitions));
  }

  /**
   * Ids of which messages in these spans are not counted, each in the place of what was said of it before; of other ids it stays as it
   * was. Not remembered: to be told at each start.
   */
  suppress({ key, ids }: SuppressedIds): void {
    this.#suppressed ??= spanIndex(idDigest(key));
    for (const one of ids) this.#suppressed.set(one);
  }

  /**
   * What the messages of each source may join. Of a source that is not named here (it is deleted, and messages of it are still
   * read): what anybody may. Not remembered: to be told at each start.
   */
  allowJoins(policies: readonly (readonly [sourceId: string, policy: IdentityPolicy])[]): void {
    this.#policies = new Map(policies);
  }

  /** Messages that a crash left owed. */
  async owed(limit: number): Promise<readonly PendingMessage[]> {
    return this.#inTurn(() => this.#store.pending(limit));
  }

  /** Messages up to `seq` are in the log. */
  paid(seq: number): void {
    this.#paidUpTo = Math.max(seq, this.#paidUpTo ?? 0);
  }

  /** Stores what was `paid`, where no later step did. */
  settle(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#paidUpTo === undefined) return;
      await this.#store.commit({ publishedUpTo: this.#paidUpTo });
      this.#paidUpTo = undefined;
    });
  }

  /** Resolves when what is counted outlives a power cut: the log may forget it then. */
  sync(): Promise<void> {
    return this.#inTurn(() => this.#store.commit({ isSynced: true }));
  }

  /**
   * Counts the next messages of the log, each at the time of its receipt: a backlog changes nothing of what is told but when it is.
   * What time alone has changed since is left to `tick`. It may stop before the last one, when it has taken much into memory.
   *
   * What it is about to count is stored first: messages over which the engine died, or failed, twice are then taken one by one, and the
   * one over which it does so again is set aside.
   */
  consume(batches: readonly StoredBatch[], nowMs: number): Promise<StepResult> {
    return this.#inTurn(async () => {
      const { cursor } = await this.#load();
      const last = batches.at(-1);
      if (last === undefined) return this.#run(nowMs, () => {});
      const to = lastOf(last);
      const attempt = nextAttempt(this.#attempt, { from: (cursor + 1) as Offset, to });
      if (isOneByOne(attempt)) return this.#consumeOneByOne(batches, attempt, nowMs);
      return this.#attempted(attempt, undefined, nowMs, async (step, loaded) => {
        const messages = batches.flatMap((batch) => this.#messagesOf(batch, loaded));
        await this.#takeMessages(step, loaded, messages, to);
      });
    });
  }

  async #consumeOneByOne(
    batches: readonly StoredBatch[],
    attempt: Attempt,
    nowMs: number,
  ): Promise<StepResult> {
    const results: StepResult[] = [];
    this.#attempt = attempt;
    for (const batch of batches) {
      if (batch.first > attempt.to) break;
      try {
        results.push(...(await this.#consumeBatchOneByOne(batch, attempt, nowMs)));
      } catch (error) {
        // Neither the request nor its message is to blame for a failure of the store: as if neither had been begun.
        if (error instanceof StorageUnavailable) this.#attempt = attempt;
        throw error;
      }
    }
    return {
      ...(results.at(-1) ?? (await this.#run(nowMs, () => {}))),
      owed: results.flatMap(({ owed }) => owed),
      setAside: results.flatMap(({ setAside }) => setAside),
      refusedJoins: results.flatMap(({ refusedJoins }) => refusedJoins),
      leftOut: {
        traits: results.reduce((sum, { leftOut }) => sum + leftOut.traits, 0),
        ids: results.reduce((sum, { leftOut }) => sum + leftOut.ids, 0),
      },
    };
  }

  async #consumeBatchOneByOne(
    batch: StoredBatch,
    attempt: Attempt,
    nowMs: number,
  ): Promise<readonly StepResult[]> {
    const { sourceId, receivedAtMs } = batch;
    const end = lastOf(batch);
    const loaded = await this.#load();
    const span: Span = { from: Math.max(batch.first, loaded.cursor + 1) as Offset, to: end };
    const next = end >= attempt.to ? undefined : attempt;
    const reading = beginRequest(attempt, span);
    if (reading === undefined)
      return [await this.#giveUp({ kind: "request", ...span, sourceId, receivedAtMs }, next, nowMs)];
    await this.#begin(reading);
    const results: StepResult[] = [];
    for (const message of this.#messagesOf(batch, loaded)) {
      const { offset } = message;
      const begun = beginMessage(attempt, offset);
      const given = { kind: "message", from: offset, to: offset, sourceId, receivedAtMs } as const;
      results.push(
        begun === undefined
          ? await this.#giveUp({ ...given, ...idOf(message, batch) }, attempt, nowMs)
          : await this.#attempted(begun, attempt, nowMs, (step, state) =>
              this.#takeMessages(step, state, [message], offset),
            ),
      );
    }
    results.push(
      await this.#run(nowMs, async (step, state) => {
        await this.#takeMessages(step, state, [], end);
        step.putDocument(ATTEMPT, next);
      }),
    );
    this.#attempt = next;
    return results;
  }

  /** Goes on without messages over which the engine failed again and again. */
  async #giveUp(given: SetAside, next: Attempt | undefined, nowMs: number): Promise<StepResult> {
    const result = await this.#run(nowMs, (step, loaded) => {
      loaded.setAside = [...loaded.setAside, given].slice(-MOST_SET_ASIDE);
      step.setAside.push(given);
      step.putDocument(SET_ASIDE, loaded.setAside);
      loaded.cursor = given.to;
      step.moveCursor(given.to);
      step.putDocument(ATTEMPT, next);
    });
    this.#attempt = next;
    return result;
  }

  /** One step that may be the engine's end: that it is begun is stored before; `next` is stored with what it does. */
  async #attempted(
    attempt: Attempt,
    next: Attempt | undefined,
    nowMs: number,
    make: (step: Step, loaded: EngineState) => Promise<void> | void,
  ): Promise<StepResult> {
    const before = this.#attempt;
    try {
      await this.#begin(attempt);
      const result = await this.#run(nowMs, async (step, loaded) => {
        await make(step, loaded);
        step.putDocument(ATTEMPT, next);
      });
      this.#attempt = next;
      return result;
    } catch (error) {
      // For a failure of the store the messages are not to blame.
      if (error instanceof StorageUnavailable) this.#attempt = before;
      throw error;
    }
  }

  async #begin(attempt: Attempt): Promise<void> {
    await this.#store.commit({ documents: [[ATTEMPT, JSON.stringify(attempt)]] });
    this.#attempt = attempt;
  }

  /** The messages of a batch that are to be counted. */
  #messagesOf(batch: StoredBatch, { plan, cursor }: EngineState): AddressedMessage[] {
    const { sourceId } = batch;
    if (sourceId === AUDIENCE_SOURCE_ID) return [];
    const messages = readMessages(batch, neededBy(plan)).filter(
      (one) => one.offset > cursor && !this.#isSuppressed(one),
    );
    return addressed(messages, sourceId, this.#policyOf(sourceId));
  }

  /** Counts messages, as many as there is room for; with the last of them everything up to `upTo` is counted. */
  async #takeMessages(
    step: Step,
    loaded: EngineState,
    messages: readonly AddressedMessage[],
    upTo: Offset,
  ): Promise<void> {
    const isNeeded = neededBy(loaded.plan);
    const { nowMs } = step;
    await fetchFor(step, messages, isNeeded);
    loaded.cursor = upTo;
    for (const one of messages) {
      if (!isFetched(step, one, isNeeded)) {
        loaded.cursor = (one.offset - 1) as Offset;
        break;
      }
      step.nowMs = Math.min(nowMs, one.receivedAtMs);
      takeMessage(step, loaded, one, isNeeded);
    }
    step.moveCursor(loaded.cursor);
  }

  /** Looks at profiles whose time has come. */
  tick(nowMs: number): Promise<StepResult> {
    return this.#step(nowMs, async (step, loaded) => {
      const numbers = await this.#store.due(nowMs, STEP_PROFILES);
      await step.fetchNumbers(numbers);
      for (const number of numbers) {
        const profile = step.get(number);
        if (profile !== undefined) settleDue(step, loaded, profile);
      }
    });
  }

  /** Takes the next part of the log's past, after `historyAfter`; empty where there is none. */
  readHistory(batches: readonly StoredBatch[], nowMs: number): Promise<StepResult> {
    return this.#step(nowMs, async (step, loaded) => {
      const reading = [...loaded.aspects].filter(([, progress]) => progress.cursor < progress.upTo);
      const events = new Set(reading.map(([, { aspect }]) => aspect.event));
      const after = Math.min(...reading.map(([, { cursor }]) => cursor));
      const past = readable(batches, loaded.setAside)
        .flatMap((batch) => eventsOf(batch, events))
        .filter(({ occurrence: { offset } }) => offset > after && !isSetAside(loaded.setAside, offset));
      await step.fetch(past.flatMap(({ message }) => identificationOf(message)?.own ?? []));
      let cut: Offset | undefined;
      for (const { message, event, occurrence } of past) {
        const own = identificationOf(message)?.own ?? "";
        if (step.isUnfetched(step.numberOf(own) ?? -1)) {
          cut = (occurrence.offset - 1) as Offset;
          break;
        }
        const profile = step.find(own);
        if (profile === undefined) continue;
        for (const [number, { aspect, cursor, upTo }] of reading) {
          const isMissing = occurrence.offset > cursor && occurrence.offset <= upTo;
          if (isMissing && aspect.event === event) takeOccurrence(step, profile, number, aspect, occurrence);
        }
        setDue(step, loaded.plan, profile, false);
      }
      const last = batches.at(-1);
      const end = cut ?? (last === undefined ? undefined : lastOf(last));
      for (const [number, progress] of reading) {
        progress.cursor =
          end === undefined || end >= progress.upTo
            ? progress.upTo
            : (Math.max(end, progress.cursor) as Offset);
        step.aspectChanged(number, progress);
      }
      promote(step, loaded);
    });
  }

  /** One step of what is to be done beside the log: evaluating everybody, sending what was held, telling added destinations. */
  work(nowMs: number): Promise<StepResult> {
    return this.#step(nowMs, async (step, loaded) => {
      await this.#evaluateNext(step, loaded);
      for (const state of loaded.states.values()) {
        if (isFlushDue(state, nowMs)) await this.#flushNext(step, state);
        if (isResendDue(state)) await this.#resendNext(step, state);
      }
      promote(step, loaded);
    });
  }

  /** How far every definition is. */
  figures(nowMs: number): Promise<readonly DefinitionFigures[]> {
    return this.#inTurn(async () => {
      const loaded = await this.#load();
      return Array.from(loaded.states.values(), (state) => ({
        id: state.definition.id,
        size: state.size,
        status: syncView(state, historyRead(state, loaded), nowMs),
      }));
    });
  }

  /** Members by their profiles' age; undefined when there is no such audience. */
  members(audienceId: string, page: PageRequest): Promise<Page<MemberView> | undefined> {
    return this.#inTurn(async () => {
      const loaded = await this.#load();
      if (!loaded.states.has(audienceId)) return undefined;
      const { items, nextCursor } = await this.#store.members(audienceId, page);
      const views: MemberView[] = [];
      for (const { profile: number, sinceMs } of items) {
        const [record] = await this.#store.load([number]);
        if (record !== undefined)
          views.push({ ...userFields(decodeProfile(record)), since: formatTime(sinceMs) });
      }
      return { items: views, ...(nextCursor === undefined ? {} : { nextCursor }) };
    });
  }

  /**
   * Users with a value of a computed trait, by their profiles' age; undefined when there is no such trait. Values are looked for
   * in a bounded number of profiles, so a page may be short, or empty, and have a next one.
   */
  values(traitId: string, { limit, cursor }: PageRequest): Promise<Page<UserValueView> | undefined> {
    return this.#inTurn(async () => {
      const { plan } = await this.#load();
      if (plan.definitions.get(traitId)?.kind !== COMPUTED_TRAIT) return undefined;
      const { records, isEnd } = await this.#store.scan(readPosition(cursor) ?? -1, {
        profiles: READ_PROFILES,
        bytes: SCANNED_BYTES,
      });
      const items: UserValueView[] = [];
      for (const record of records) {
        const profile = decodeProfile(record);
        const value = profile.computed.get(traitId)?.value;
        if (value === undefined) continue;
        items.push({ ...userFields(profile), value });
        if (items.length === limit) return { items, nextCursor: writePosition(record.number) };
      }
      const last = records.at(-1);
      return last !== undefined && !isEnd ? { items, nextCursor: writePosition(last.number) } : { items };
    });
  }

  /** Why a user is in or out; undefined when there is no such audience or profile. */
  why(audienceId: string, userId: string, nowMs: number): Promise<WhyView | undefined> {
    return this.#inTurn(async () => {
      const { plan } = await this.#load();
      const definition = plan.definitions.get(audienceId);
      const profile = await this.#read(userId);
      if (definition?.kind !== AUDIENCE || profile === undefined) return undefined;
      const membership = profile.memberships.get(audienceId);
      const explanation = explain(definition.document.condition, {
        ...readingOf(profile, plan, nowMs),
        event: (condition) => {
          const number = plan.aspectOf.get(condition) ?? -1;
          const aspect = plan.aspects.get(number);
          const tally = profile.aspects.get(number) as Tally | undefined;
          if (aspect?.kind !== "tally") return { isCapped: false };
          return {
            lastMs: lastMs(tally),
            changesAtMs: nextChangeMs(aspect, tally, nowMs),
            isCapped: aspect.withinMs !== undefined && countOf(aspect, tally, nowMs) >= aspect.most,
          };
        },
      });
      return {
        userId,
        member: membership?.isIn ?? false,
        ...(membership === undefined ? {} : { since: formatTime(membership.sinceMs) }),
        explanation,
      };
    });
  }

  /** How a user's value of a computed trait came about; undefined when there is no such trait or profile. */
  whyValue(traitId: string, userId: string, nowMs: number): Promise<ValueReason | undefined> {
    return this.#inTurn(async () => {
      const { plan, cursor } = await this.#load();
      const definition = plan.definitions.get(traitId);
      const profile = await this.#read(userId);
      if (definition?.kind !== COMPUTED_TRAIT || profile === undefined) return undefined;
      const state = profile.aspects.get(plan.aspectOf.get(definition.document) ?? -1);
      return reasonOf(profile, accumulationOf(definition.document), state as Accumulation | undefined, {
        userId,
        nowMs,
        upTo: cursor,
      });
    });
  }

  profile(userId: string): Promise<ProfileView | undefined> {
    return this.#inTurn(async () => {
      const { plan } = await this.#load();
      const profile = await this.#read(userId);
      return profile === undefined ? undefined : viewOf(profile, plan);
    });
  }

  /** Begins a preview; `previewHistory` and `previewScan` go on with it, `previewEnd` forgets it. */
  previewBegin(
    question: PreviewQuestion,
    nowMs: number,
  ): Promise<{ readonly preview: number; readonly needsHistory: boolean; readonly upTo: Offset }> {
    return this.#inTurn(async () => {
      const { plan, aspects, cursor } = await this.#load();
      const counted = new Map<string, number>();
      for (const [number, progress] of aspects)
        if (progress.cursor >= progress.upTo) counted.set(aspectKey(progress.aspect), number);
      const one = previewer(question, { store: this.#store, plan, counted, upTo: cursor, nowMs });
      const preview = this.#nextPreview++;
      this.#previews.set(preview, one);
      return { preview, needsHistory: one.needsHistory && cursor > BEFORE_FIRST, upTo: cursor };
    });
  }

  async previewHistory(preview: number, batches: readonly StoredBatch[]): Promise<Offset> {
    return this.#inTurn(async () => this.#preview(preview).history(batches, (await this.#load()).setAside));
  }

  /** The result, once all profiles are evaluated. */
  async previewScan(preview: number): Promise<Previewed | undefined> {
    return this.#inTurn(async () => {
      const one = this.#preview(preview);
      return (await one.scan()) ? one.result() : undefined;
    });
  }

  /** Throws when it is not known: the engine in which it was begun is gone. */
  #preview(preview: number): Previewer {
    const one = this.#previews.get(preview);
    if (one === undefined) throw new StorageUnavailable("the preview was interrupted; ask again");
    return one;
  }

  previewEnd(preview: number): void {
    this.#previews.delete(preview);
  }

  /** Which ids a message wanted to be its user's, and are not. Nothing while the message is not counted. */
  refusedJoins(
    message: Pick<UncheckedMessage, "type" | "userId" | "anonymousId" | "previousId">,
    { sourceId, offset }: { readonly sourceId: string; readonly offset: Offset },
  ): Promise<readonly RefusedJoin[]> {
    return this.#inTurn(async () => {
      const policy = this.#policyOf(sourceId);
      const identification = identificationOf(message, policy);
      const { cursor } = await this.#load();
      if (identification === undefined || offset > cursor || sourceId === AUDIENCE_SOURCE_ID) return [];
      const numbers = await this.#store.resolve(identitiesIn(identification));
      return refusedJoins(message, policy, (identity) => numbers.get(identity));
    });
  }

  /** What goes with an id, and what a deletion of it would find in its profile. */
  identitiesOf(identity: Identity, includeAliases: boolean): Promise<UserIds & Forgotten> {
    return this.#inTurn(async () => {
      const profile = await this.#readBy([identity]);
      const own = profile !== undefined && namesProfile(profile, identity) ? profile : undefined;
      return { ...idsOf(own, identity, includeAliases), ...figuresOf(own) };
    });
  }

  /**
   * Removes the profiles that ids name, with their memberships and what is owed of them. `identities` are all that go of one;
   * user ids that are not among them stay, with an empty profile.
   */
  forget(
    users: readonly { readonly identity: Identity; readonly identities: readonly Identity[] }[],
    nowMs: number,
  ): Promise<readonly Forgotten[]> {
    return this.#inTurn(async () => {
      const loaded = await this.#load();
      const step = new Step(this.#store, this.#remembered, loaded.numbers, nowMs);
      await step.fetch(users.map(({ identity }) => identity));
      const forgotten = users.map(({ identity, identities }): Forgotten => {
        const profile = step.find(identity);
        if (profile === undefined || !namesProfile(profile, identity)) return figuresOf(undefined);
        const figures = figuresOf(profile);
        forgetProfile(step, loaded, profile, identities);
        return figures;
      });
      await this.#commit(step);
      return forgotten;
    });
  }

  /** Removes some profiles with all that is kept and owed of them; answers whether there are more. Definitions stay. */
  forgetSome(nowMs: number): Promise<boolean> {
    return this.#inTurn(async () => {
      const loaded = await this.#load();
      const step = new Step(this.#store, this.#remembered, loaded.numbers, nowMs);
      const { profiles, isEnd } = await step.scan(-1, STEP_PROFILES);
      for (const profile of profiles) removeProfile(step, loaded, profile);
      loaded.setAside = [];
      step.putDocument(SET_ASIDE, undefined);
      await this.#commit(step);
      return !isEnd;
    });
  }

  /** Messages that are not counted, oldest first. */
  setAside(): Promise<readonly SetAside[]> {
    return this.#inTurn(async () => (await this.#load()).setAside);
  }

  /** Rewrites the store so that what was removed is in none of its bytes. */
  compact(): Promise<void> {
    return this.#inTurn(() => this.#store.compact());
  }

  close(): Promise<void> {
    return this.#inTurn(() => this.#store.close());
  }

  // ── Steps ───────────────────────────────────────────────────────────────────────────────────────────────

  #step(nowMs: number, make: (step: Step, loaded: EngineState) => Promise<void> | void): Promise<StepResult> {
    return this.#inTurn(() => this.#run(nowMs, make));
  }

  async #run(
    nowMs: number,
    make: (step: Step, loaded: EngineState) => Promise<void> | void,
  ): Promise<StepResult> {
    const loaded = await this.#load();
    const step = new Step(this.#store, this.#remembered, loaded.numbers, nowMs);
    try {
      await make(step, loaded);
      await this.#commit(step);
    } catch (error) {
      this.#unload();
      throw error;
    }
    const { owed, leftOut, setAside, refusedJoins } = step;
    const status = await this.#status(loaded, nowMs);
    return { owed, leftOut, setAside, refusedJoins: [...refusedJoins], status };
  }

  async #commit(step: Step): Promise<void> {
    const paidUpTo = this.#paidUpTo;
    try {
      await step.commit(paidUpTo);
    } catch (error) {
      this.#unload();
      throw error;
    }
    if (this.#paidUpTo === paidUpTo) this.#paidUpTo = undefined;
  }

  /** What a failed step changed in memory is not to be believed: it is read again. */
  #unload(): void {
    this.#loaded = undefined;
    this.#remembered.profiles.clear();
    this.#remembered.identities.clear();
  }

  async #load(): Promise<EngineState> {
    if (this.#loaded !== undefined) return this.#loaded;
    const documents = await this.#store.documents();
    this.#noteLastAttempt(documents.get(ATTEMPT));
    const stored = documents.get("numbers");
    const numbers: Numbers =
      stored === undefined
        ? // Anew for each file: one that takes the place of a damaged one counts from 1 again, and its ids must be new to receivers.
          { nonce: this.#newNonce(), nextProfile: 1, nextSeq: 1, nextAspect: 1 }
        : (JSON.parse(stored) as Numbers);
    const aspects = new Map<number, AspectProgress>();
    const states = new Map<string, DefinitionState>();
    for (const [name, json] of documents) {
      const [kind, id] = [name.slice(0, name.indexOf(":")), name.slice(name.indexOf(":") + 1)];
      if (kind === "aspect") aspects.set(Number(id), JSON.parse(json) as AspectProgress);
      else if (kind === "definition") states.set(id, asState(json));
    }
    const cursor = await this.#store.cursor();
    const setAside = JSON.parse(documents.get(SET_ASIDE) ?? "[]") as SetAside[];
    this.#loaded = { numbers, aspects, states, cursor, setAside, plan: planOf(states, aspects) };
    return this.#loaded;
  }

  /** What an engine before this one began and did not finish; what this one began it knows by itself. */
  #noteLastAttempt(stored: string | undefined): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    if (stored !== undefined) this.#attempt = JSON.parse(stored) as Attempt;
  }

  async #status(loaded: EngineState, nowMs: number): Promise<EngineStatus> {
    let historyAfter: Offset | undefined;
    for (const { cursor, upTo } of loaded.aspects.values())
      if (cursor < upTo && (historyAfter === undefined || cursor < historyAfter)) historyAfter = cursor;
    let wakeAtMs = await this.#store.nextDueMs();
    let hasWork = false;
    let leftOut = 0;
    for (const state of loaded.states.values()) {
      leftOut += state.leftOut.events;
      hasWork ||= isScanned(state) || isFlushDue(state, nowMs) || isResendDue(state);
      const wakeMs = nextWakeMs(state, nowMs);
      if (wakeMs !== undefined && (wakeAtMs === undefined || wakeMs < wakeAtMs)) wakeAtMs = wakeMs;
    }
    return {
      cursor: loaded.cursor,
      ...(historyAfter === undefined ? {} : { historyAfter }),
      hasWork,
      leftOut,
      setAside: loaded.setAside.length,
      ...(wakeAtMs === undefined ? {} : { wakeAtMs }),
    };
  }

  #define(step: Step, loaded: EngineState, definitions: readonly Definition[]): void {
    const { states } = loaded;
    const wanted = new Map(definitions.map((definition) => [definition.id, definition]));
    const keysBefore = loaded.plan.computedByKey;
    const keys = new Set(
      definitions.flatMap(({ kind, document }) => (kind === COMPUTED_TRAIT ? [document.key] : [])),
    );
    const changedKeys = new Set(
      [...keysBefore.keys(), ...keys].filter((key) => !(keysBefore.has(key) && keys.has(key))),
    );
    for (const id of [...states.keys()]) {
      if (wanted.has(id)) continue;
      states.delete(id);
      step.removeDefinition(id);
    }
    for (const definition of definitions) {
      const known = states.get(definition.id);
      const state =
        known === undefined ? newState(definition, step) : edited(known, definition, step, changedKeys);
      if (state === known) continue;
      states.set(definition.id, state);
      step.stateChanged(state);
    }
    const needed = new Set<string>();
    const numbers = new Map([...loaded.aspects].map(([number, { aspect }]) => [aspectKey(aspect), number]));
    for (const aspect of aspectsOf(definitions)) {
      const key = aspectKey(aspect);
      needed.add(key);
      if (numbers.has(key)) continue;
      const number = step.takeAspectNumber();
      const progress: AspectProgress = { aspect, upTo: loaded.cursor, cursor: BEFORE_FIRST };
      numbers.set(key, number);
      loaded.aspects.set(number, progress);
      step.aspectChanged(number, progress);
    }
    for (const [number, { aspect }] of loaded.aspects) {
      if (needed.has(aspectKey(aspect))) continue;
      loaded.aspects.delete(number);
      step.aspectChanged(number, undefined);
    }
    loaded.plan = planOf(states, loaded.aspects);
    promote(step, loaded);
  }

  async #evaluateNext(step: Step, loaded: EngineState): Promise<void> {
    const scanned = [...loaded.states.values()].filter(isScanned);
    if (scanned.length === 0) return;
    const from = Math.min(...scanned.map((state) => state.evaluatedTo));
    const { profiles, isEnd } = await step.scan(from, STEP_PROFILES);
    for (const profile of profiles) {
      for (const state of scanned) {
        if (state.evaluatedTo >= profile.number || profile.number > state.evaluateUpTo) continue;
        keepUpWith(step, loaded, profile, state.definition);
        state.evaluated += 1;
      }
    }
    const last = isEnd ? undefined : profiles.at(-1)?.number;
    for (const state of scanned) {
      state.evaluatedTo = last === undefined ? state.evaluateUpTo : Math.max(last, state.evaluatedTo);
      if (state.evaluatedTo >= state.evaluateUpTo) goLive(state, step.nowMs);
      step.stateChanged(state);
    }
  }

  async #flushNext(step: Step, state: DefinitionState): Promise<void> {
    const numbers = await this.#store.held(state.definition.id, STEP_PROFILES);
    await step.fetchNumbers(numbers);
    for (const number of numbers) {
      const profile = step.get(number);
      if (profile !== undefined) release(step, state, profile);
    }
    if (state.held === 0) state.nextSyncAtMs = afterSync(state, step.nowMs);
    step.stateChanged(state);
  }

  async #resendNext(step: Step, state: DefinitionState): Promise<void> {
    const [resend, ...others] = state.resends;
    if (resend === undefined) return;
    const { profiles, isEnd } = await step.scan(resend.after, STEP_PROFILES);
    for (const profile of profiles) tellAdded(step, state, profile, resend.destinationIds, resend.beforeSeq);
    const last = profiles.at(-1)?.number;
    state.resends = last === undefined || isEnd ? others : [{ ...resend, after: last }, ...others];
    step.stateChanged(state);
  }

  #isSuppressed({ message, offset }: LogMessage): boolean {
    const identity = identityOf(message);
    if (identity === undefined || this.#suppressed === undefined) return false;
    return covers(this.#suppressed.spansOf(identity), offset);
  }

  #policyOf(sourceId: string): IdentityPolicy {
    return this.#policies.get(sourceId) ?? "anonymous";
  }

  /** A profile as it is stored: not taken into memory, since a step may be changing it. */
  #read(userId: string): Promise<Profile | undefined> {
    return this.#readBy([userIdentity(userId), anonymousIdentity(userId)]);
  }

  /** The profile of the first of these ids that has one. */
  async #readBy(identities: readonly Identity[]): Promise<Profile | undefined> {
    const numbers = await this.#store.resolve(identities);
    const number = identities.map((identity) => numbers.get(identity)).find((one) => one !== undefined);
    if (number === undefined) return undefined;
    const [record] = await this.#store.load([number]);
    return record === undefined ? undefined : decodeProfile(record);
  }
}

function figuresOf(profile: Profile | undefined): Forgotten {
  return {
    profile: profile !== undefined,
    audienceMemberships: [...(profile?.memberships.values() ?? [])].filter((one) => one.isIn).length,
  };
}
