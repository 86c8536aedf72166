import type { MemberView, ProfileListView, ProfileView, UserValueView, WhyView } from "@sluice/control-api";
import type {
  Identity,
  Offset,
  Page,
  PageRequest,
  PendingMessage,
  ProfileStore,
  SnapshotInfo,
  StoredBatch,
} from "@sluice/event-log";
import { StorageUnavailable } from "@sluice/event-log";
import type { UncheckedMessage } from "@sluice/protocol";
import type { Definition } from "../definitions/definitions.js";
import type { CrashMarkers, SetAside } from "../profiles/crash-marker.js";
import type { IdentityPolicy } from "../profiles/identities.js";
import type { RefusedJoin } from "../profiles/refused-joins.js";
import { updateDue } from "./evaluation/due-time.js";
import { work } from "./evaluation/work.js";
import { MessageCounter, type SuppressedIds } from "./messages/message-counter.js";
import { readHistory } from "./messages/read-history.js";
import type { ValueReason } from "./questions/explain-value.js";
import type { UserIds } from "./questions/forgetting.js";
import {
  type Forgotten,
  type ForgottenUser,
  forget,
  forgetSome,
  identitiesOf,
} from "./questions/forgetting.js";
import type { Previewed, PreviewQuestion } from "./questions/preview.js";
import { Previews } from "./questions/previews.js";
import { type DefinitionStats, Questions } from "./questions/questions.js";
import { define } from "./state/define.js";
import {
  type Make,
  UNIT_PROFILES,
  type UnitResult,
  UnitRunner,
  type UnitRunnerOptions,
} from "./state/unit-runner.js";

export interface AudienceEngineOptions extends UnitRunnerOptions {
  /** Where this process keeps which messages it is about to count. Default: in the store, which then must be its own. */
  readonly crashMarkers?: CrashMarkers;
}

/**
 * Keeps profiles, memberships and computed traits up to date with the log and with time. It reads neither a clock nor the log: its caller
 * passes both. Each call that changes something is one unit of work. It is committed with its cursor or has no effect: if a commit
 * fails the call rejects and can be repeated. Calls run one after another. Arguments and results are plain data, so the engine can run in a thread.
 */
export class AudienceEngine {
  readonly #units: UnitRunner;
  readonly #messages: MessageCounter;
  readonly #questions: Questions;
  readonly #previews: Previews;

  constructor(store: ProfileStore, { crashMarkers, ...options }: AudienceEngineOptions = {}) {
    this.#units = new UnitRunner(store, options);
    this.#messages = new MessageCounter(this.#units, crashMarkers);
    this.#questions = new Questions(this.#units);
    this.#previews = new Previews(this.#units);
  }

  // ── Counting and evaluating ──

  /** Takes up the definitions as they are now: prepares new ones, evaluates changed ones again, forgets those that are gone. */
  define(definitions: readonly Definition[], nowMs: number): Promise<UnitResult> {
    return this.#run(nowMs, (unit, loaded) => define(unit, loaded, definitions));
  }

  /**
   * Sets the spans in which messages of these ids are not counted. Each id's spans replace its earlier ones; other ids keep theirs.
   * The engine does not store them: call it at each start.
   */
  suppress(ids: SuppressedIds): void {
    this.#messages.suppress(ids);
  }

  /**
   * Sets which ids the messages of each source may join. Other sources (a deleted one whose messages are still read) may join
   * anonymous ids. The engine does not store it: call it at each start.
   */
  allowJoins(policies: readonly (readonly [sourceId: string, policy: IdentityPolicy])[]): void {
    this.#messages.allowJoins(policies);
  }

  /**
   * Counts the next messages of the log, each at the time of its receipt: a backlog changes when something is published, but not what.
   * Changes by time alone are left to `tick`. It may stop before the last message, when it has taken much into memory.
   *
   * `after`: behind which message they begin. If that is not what the engine has counted up to, because it has lost everything since,
   * it takes none of them; its status says from where on it needs them. Default: it is not compared.
   *
   * Messages over which the engine crashed or failed twice are taken one by one; the one over which it fails again is set aside.
   */
  consume(batches: readonly StoredBatch[], nowMs: number, after?: Offset): Promise<UnitResult> {
    return this.#units.enqueue(() => this.#messages.count(batches, nowMs, after));
  }

  /** Evaluates profiles that are due. */
  tick(nowMs: number): Promise<UnitResult> {
    return this.#run(nowMs, async (unit, loaded) => {
      for (const profile of await unit.fetchDue(nowMs, UNIT_PROFILES)) updateDue(unit, loaded, profile);
    });
  }

  /** Counts the next part of the past, after `historyAfter`. Pass no batches when there is none. */
  readHistory(batches: readonly StoredBatch[], nowMs: number): Promise<UnitResult> {
    return this.#run(nowMs, (unit, loaded) => readHistory(unit, loaded, batches));
  }

  /** Does one unit of the work beside the log: evaluates profiles for new definitions, sends what was held, informs added destinations. */
  work(nowMs: number): Promise<UnitResult> {
    return this.#run(nowMs, work);
  }

  // ── Outbox ──

  /** The oldest pending messages. */
  pendingMessages(limit: number): Promise<readonly PendingMessage[]> {
    return this.#units.enqueue(() => this.#units.store.pending(limit));
  }

  /** Messages up to `seq` are in the log. The next commit stores that. */
  markPublished(seq: number): void {
    this.#units.markPublished(seq);
  }

  /** Stores what was marked as published, if no commit has stored it since. */
  savePublished(): Promise<void> {
    return this.#units.enqueue(() => this.#units.savePublished());
  }

  // ── Questions ──

  /** How far every definition is. */
  stats(nowMs: number): Promise<readonly DefinitionStats[]> {
    return this.#units.enqueue(() => this.#questions.stats(nowMs));
  }

  /** Members, by the age of their profiles; undefined if there is no such audience. */
  members(audienceId: string, page: PageRequest): Promise<Page<MemberView> | undefined> {
    return this.#units.enqueue(() => this.#questions.members(audienceId, page));
  }

  /**
   * Users with a value of a computed trait, by the age of their profiles; undefined if there is no such trait. One call looks at a
   * bounded number of profiles, so a page may be short or empty and still have a next one.
   */
  values(traitId: string, page: PageRequest): Promise<Page<UserValueView> | undefined> {
    return this.#units.enqueue(() => this.#questions.values(traitId, page));
  }

  /** Explains why a user is a member or not; undefined if there is no such audience or profile. */
  why(audienceId: string, userId: string, nowMs: number): Promise<WhyView | undefined> {
    return this.#units.enqueue(() => this.#questions.why(audienceId, userId, nowMs));
  }

  /** Explains a user's value of a computed trait; undefined if there is no such trait or profile. */
  whyValue(traitId: string, userId: string, nowMs: number): Promise<ValueReason | undefined> {
    return this.#units.enqueue(() => this.#questions.whyValue(traitId, userId, nowMs));
  }

  profile(userId: string): Promise<ProfileView | undefined> {
    return this.#units.enqueue(() => this.#questions.profile(userId));
  }

  /**
   * Profiles with an id or a trait that contains the text, newest first; all profiles for an empty text. One call looks at a bounded
   * number of profiles, so a page may be short or empty and still have a next one.
   */
  search(text: string, page: PageRequest): Promise<ProfileListView> {
    return this.#units.enqueue(() => this.#questions.search(text, page));
  }

  /** The ids that a message asked to join to its user and that were refused. Empty while the message is not counted. */
  refusedJoins(
    message: Pick<UncheckedMessage, "type" | "userId" | "anonymousId" | "previousId">,
    at: { readonly sourceId: string; readonly offset: Offset },
  ): Promise<readonly RefusedJoin[]> {
    return this.#units.enqueue(() =>
      this.#questions.refusedJoins(message, at, this.#messages.policyOf(at.sourceId)),
    );
  }

  /** Messages that are not counted because the engine failed over them, oldest first. */
  setAside(): Promise<readonly SetAside[]> {
    return this.#units.enqueue(async () => (await this.#units.load()).setAside);
  }

  // ── Previews ──

  /** Begins a preview. Continue with `previewHistory` and `previewScan`, and release it with `previewEnd`. */
  previewBegin(
    question: PreviewQuestion,
    nowMs: number,
  ): Promise<{ readonly preview: number; readonly needsHistory: boolean; readonly upTo: Offset }> {
    return this.#units.enqueue(() => this.#previews.begin(question, nowMs));
  }

  /** Counts the next part of the log for a preview; returns how far it is. */
  previewHistory(preview: number, batches: readonly StoredBatch[]): Promise<Offset> {
    return this.#units.enqueue(() => this.#previews.history(preview, batches));
  }

  /** Evaluates the next profiles; returns the result once all are evaluated. */
  previewScan(preview: number): Promise<Previewed | undefined> {
    return this.#units.enqueue(() => this.#previews.scan(preview));
  }

  previewEnd(preview: number): void {
    this.#previews.end(preview);
  }

  // ── Forgetting ──

  /** The ids that a deletion of `identity` includes, and what it would find in the profile. */
  identitiesOf(identity: Identity, includeAliases: boolean): Promise<UserIds & Forgotten> {
    return this.#units.enqueue(() => identitiesOf(this.#units, identity, includeAliases));
  }

  /**
   * Removes the profiles of users, with their memberships and pending messages. User ids of a profile that are not among the
   * `identities` to be removed keep an empty profile. Large profiles take several units of work; a call that was repeated after a failure
   * finds only what is left.
   */
  forget(users: readonly ForgottenUser[], nowMs: number): Promise<readonly Forgotten[]> {
    return this.#units.enqueue(() => forget(this.#units, users, nowMs));
  }

  /** Removes some profiles with everything kept and pending for them; returns whether there are more. Definitions stay. */
  forgetSome(nowMs: number): Promise<boolean> {
    return this.#units.enqueue(() => forgetSome(this.#units, nowMs));
  }

  // ── Files ──

  /** Resolves when everything counted is durable: the log may drop it then. */
  sync(): Promise<void> {
    return this.#units.enqueue(() => this.#units.store.commit({ isSynced: true }));
  }

  /** Rewrites the store, so that it holds no byte of what was removed. */
  compact(): Promise<void> {
    return this.#units.enqueue(() => this.#units.store.compact());
  }

  /** Begins a snapshot of the file of profiles; undefined if they are not in a file. See `Snapshots`. */
  beginSnapshot(): Promise<SnapshotInfo | undefined> {
    return this.#units.enqueue(async () => this.#units.store.snapshots?.begin());
  }

  readSnapshot(at: number, bytes: number): Promise<Uint8Array> {
    return this.#units.enqueue(async () => {
      const { snapshots } = this.#units.store;
      if (snapshots === undefined) throw new StorageUnavailable("profiles are not in a file");
      return snapshots.read(at, bytes);
    });
  }

  endSnapshot(): Promise<void> {
    return this.#units.enqueue(async () => this.#units.store.snapshots?.end());
  }

  close(): Promise<void> {
    return this.#units.enqueue(() => this.#units.store.close());
  }

  #run(nowMs: number, make: Make): Promise<UnitResult> {
    return this.#units.enqueue(() => this.#units.run(nowMs, make));
  }
}
