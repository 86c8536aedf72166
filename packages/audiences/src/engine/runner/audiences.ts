import type {
  AudienceEngineView,
  AudiencePreview,
  ComputedTraitDefinition,
  ComputedTraitPreview,
  MemberView,
  ProfileListView,
  ProfileView,
  SyncView,
  UserValueView,
  ValueWhyView,
  WhyView,
} from "@sluice/control-api";
import type {
  Identity,
  Page,
  PageRequest,
  SnapshotInfo,
  Snapshots,
  Store,
  StoredMessage,
} from "@sluice/event-log";
import type { Condition, UncheckedMessage } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { RefusedJoin } from "../../profiles/refused-joins.js";
import type { AudienceEngine } from "../engine.js";
import type { Logger, Metrics } from "./telemetry.js";

/** The engine as the runner calls it: in this thread, or in a thread of its own behind the same methods. */
export interface Engine extends Pick<AudienceEngine, keyof AudienceEngine> {
  /**
   * Calls `listener` when the engine has lost everything that it counted, because its file was damaged and a new one takes its place.
   * Absent where that cannot happen.
   */
  onEmptied?(listener: () => void): void;
}

export interface AudiencesOptions {
  /** Audiences read its log, and publish to it. */
  readonly store: Pick<Store, "log" | "config" | "consumers">;
  readonly engine: Engine;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The key of the digests of suppressed ids. */
  readonly digestKey: Uint8Array;
  /** Told of messages that asked for ids to be joined that were not. */
  readonly onRefusedJoins?: (sourceId: string, messages: number) => void;
  /** Called when the start waits for the engine, because something is defined. Default: nothing. */
  readonly onNeeded?: () => void;
  /** Returns the busy part of the main thread's time since the last call, 0 to 1. Default: the event loop's utilization. */
  readonly utilization?: () => number;
}

/**
 * Questions about users and definitions. Each waits first until the engine has counted what was acknowledged before the call. It rejects
 * with `storage_unavailable` if counting ends meanwhile.
 */
export interface AudienceQuestions {
  /** The number of members and how far the sync is; undefined while the engine does not work by the definition. */
  stats(id: string): Promise<{ readonly size: number; readonly status: SyncView } | undefined>;
  members(audienceId: string, page: PageRequest): Promise<Page<MemberView> | undefined>;
  why(audienceId: string, userId: string): Promise<WhyView | undefined>;
  /** Explains a user's value of a computed trait. */
  whyValue(traitId: string, userId: string): Promise<ValueWhyView | undefined>;
  profile(userId: string): Promise<ProfileView | undefined>;
  /**
   * Profiles with an id or a trait that contains the text, newest first; all for an empty text. The search ends after a second, so a
   * page may be short or empty and still have a next one.
   */
  search(text: string, page: PageRequest): Promise<ProfileListView>;
  /** Shows who would be a member now. The condition must be valid, and the audiences that it names must exist. */
  preview(condition: Condition, signal: AbortSignal): Promise<AudiencePreview>;
  /** Shows who would have a value now, and which. The definition must be valid. */
  previewTrait(definition: ComputedTraitDefinition, signal: AbortSignal): Promise<ComputedTraitPreview>;
  /**
   * Users with a value of a computed trait; undefined while the engine does not work by it. The search ends after a second, so a
   * page may be short or empty and still have a next one.
   */
  values(traitId: string, page: PageRequest): Promise<Page<UserValueView> | undefined>;
  /**
   * Resolves when everything that was acknowledged before the call is counted, or after ten seconds. Rejects with `storage_unavailable`
   * if counting ends before.
   */
  counted(): Promise<void>;
}

/** What is needed of a message to know which joins it asked for. */
export interface JoiningMessage extends Pick<StoredMessage, "sourceId" | "offset"> {
  readonly message: UncheckedMessage;
}

export interface Audiences extends AudienceQuestions {
  /**
   * Call it after changing a definition. Throws `NotInForce` while the engine does not work by this version of it or, without
   * `version`, while the engine still has a deleted definition. The engine retries until it has taken up the change.
   */
  requireInForce(id: string, version?: number): void;
  /** The definitions for which everybody was evaluated, with their numbers of members as the engine knows them now. Waits for nothing. */
  sizes(): Promise<readonly { readonly id: string; readonly size: number }[]>;
  /** How far the engine is behind, and which messages it does not count. */
  engine(): Promise<AudienceEngineView>;
  /** The ids that a message asked to join to its user and that were refused. Empty while the message is not counted. */
  refusedJoins(message: JoiningMessage): Promise<readonly RefusedJoin[]>;
  /** The ids that a deletion of `identity` includes, and what it would find in the profile. */
  identitiesOf(identity: Identity, includeAliases: boolean): ReturnType<AudienceEngine["identitiesOf"]>;
  /** Removes profiles with everything kept and pending for them. Messages read before the call are counted before it. */
  forget(users: Parameters<AudienceEngine["forget"]>[0]): ReturnType<AudienceEngine["forget"]>;
  /** Removes every profile, for development and tests. While `clearLog` runs, audiences neither read the log nor append to it. */
  reset(clearLog: () => Promise<void>): Promise<void>;
  /** Rewrites the files of profiles, so that they hold no byte of what was removed. */
  compact(): Promise<void>;
  /**
   * Begins a snapshot of the profiles together with the one of the log that `beginLog` begins: while it runs, audiences neither read the
   * log nor append to it. So both are from the same moment. `profiles` is undefined if they are not in a file.
   */
  beginSnapshot<T>(
    beginLog: () => Promise<T>,
  ): Promise<{ readonly profiles: SnapshotInfo | undefined; readonly log: T }>;
  /** Reads and ends the snapshot of the profiles. */
  readonly snapshot: Pick<Snapshots, "read" | "end">;
  close(): Promise<void>;
}
