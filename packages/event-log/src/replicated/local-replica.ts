import { join } from "node:path";
import { type BackoffOptions, backoffDelayMs, type Clock } from "@sluice/resilience";
import { StorageUnavailable, StoreError } from "../ports/errors.js";
import type { Applied } from "../sqlite/calls/applied.js";
import type { AppliedEntry, LogStats } from "../sqlite/calls/operations.js";
import { reportedOnce } from "../sqlite/client/store-client.js";
import type { Copy } from "./copy.js";
import { loggedSettings, workerOptions } from "./copy.js";
import type { SnapshotRecord } from "./engine.js";
import { follow } from "./follower.js";
import { type Leading, lead } from "./leading/lead.js";
import { lostEntries, takeOver } from "./leading/take-over.js";
import { ReplaceableCopy } from "./replaceable-copy.js";
import type { LeadingStores, LeadOptions, Replica, ReplicaOptions, ReplicaStatus } from "./replica.js";
import { makeSnapshot } from "./snapshots/make-snapshot.js";
import { SnapshotSchedule } from "./snapshots/snapshot-schedule.js";

const COPY_FOLDER = "copy";
/** How often the log's end is read for `status`, in milliseconds. */
const LOOK_EVERY_MS = 1_000;
/** How long after a failure a snapshot is begun again, in milliseconds. */
const AGAIN_AFTER_MS = 2_000;
/** A snapshot may have gigabytes, and a damaged one stays damaged: a load that did not help is repeated less and less often. */
const LOAD_AGAIN: BackoffOptions = { initialMs: 2_000, maxMs: 60_000, jitter: "equal" };
const SNAPSHOT_EVERY_BYTES = 64 * 1024 * 1024;
/** Entries that a snapshot leaves in the log, for followers that are a little behind. */
const KEPT_ENTRIES = 200;

/**
 * - `following`: entered by `open` and when leading ends. The copy applies the log's entries. Left to `leading`, or by `close`. `isLoading`:
 *   the copy is being replaced. `isTakingOver`: `lead` was called, and has not ended.
 * - `leading`: the writer appends entries and gives them to the copy. Left to `following` by `stepDown`, or when the writer ends.
 * - `closed`: final.
 */
type State =
  | Following
  | { readonly kind: "leading"; readonly leading: Leading }
  | { readonly kind: "closed" };

interface Following {
  readonly kind: "following";
  isLoading: boolean;
  isTakingOver: boolean;
  readonly stop: AbortController;
  /** Aborted when the copy turns out to be damaged. */
  broken: AbortController;
  ended: Promise<void>;
}

/** See `Replica`. */
export class LocalReplica implements Replica {
  readonly #options: ReplicaOptions;
  readonly #copy: ReplaceableCopy;
  readonly #schedule: SnapshotSchedule;
  readonly #listeners = new Set<() => void>();
  /** Called when the copy contains another entry. */
  readonly #onMoved = new Set<() => void>();
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;
  #state: State;
  #last = 0;
  #problem: string | undefined;
  /** Loads of a snapshot, and rebuilds that failed, since the copy last contained the whole log. */
  #uselessLoads = 0;

  private constructor(options: ReplicaOptions, copy: ReplaceableCopy) {
    this.#options = options;
    this.#copy = copy;
    this.#schedule = new SnapshotSchedule({
      engine: options.engine,
      clock: options.clock,
      everyBytes: options.snapshotEveryBytes ?? SNAPSHOT_EVERY_BYTES,
      isLeading: () => this.#state.kind === "leading",
      make: () => this.snapshot(),
      onProblem: (what) => this.#report(what),
    });
    this.#state = this.#followFromNow();
    void this.#look();
    void this.#schedule.keepLooking(this.#closing.signal);
  }

  static async open(options: ReplicaOptions): Promise<LocalReplica> {
    // Until there is a replica, nobody waits for what the copy says.
    const opened: { replica?: LocalReplica } = {};
    const copy = await ReplaceableCopy.open({
      worker: workerOptions(options, join(options.directory, COPY_FOLDER)),
      engine: options.engine,
      clock: options.clock,
      startThread: options.startThread,
      moved: () => opened.replica?.moved(),
      stats: (stats) => opened.replica?.stats(stats),
      onDamage: reportedOnce(options.onDamage ?? (() => {})),
      onBroken: () => opened.replica?.broken(),
    });
    opened.replica = new LocalReplica(options, copy);
    return opened.replica;
  }

  get #clock(): Clock {
    return this.#options.clock;
  }

  get #applied(): Applied {
    return this.#copy.now.applied;
  }

  #setState(state: State): void {
    this.#state = state;
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  #report(what: string, againAfterMs?: number): void {
    if (what !== this.#problem || againAfterMs !== undefined) this.#options.onProblem?.(what, againAfterMs);
    this.#problem = what;
    this.#changed();
  }

  /** The copy contains another entry. */
  moved(): void {
    this.#last = Math.max(this.#last, this.#applied.sequence);
    for (const listener of [...this.#onMoved]) listener();
  }

  /** The copy's numbers have changed. */
  stats(stats: LogStats): void {
    if (this.#state.kind === "leading") this.#state.leading.stats(stats);
  }

  /** The copy is damaged. */
  broken(): void {
    if (this.#state.kind === "leading") this.#state.leading.fail("the local copy is damaged");
    if (this.#state.kind === "following") this.#state.broken.abort();
  }

  #followFromNow(): State {
    const stop = new AbortController();
    const following: Following = {
      ...{ kind: "following", isLoading: false, isTakingOver: false },
      ...{ stop, broken: new AbortController(), ended: Promise.resolve() },
    };
    following.ended = this.#follow(following);
    return following;
  }

  /** Follows the log until it is stopped, and replaces the copy where it cannot go on. */
  async #follow(state: Following): Promise<void> {
    const { stop } = state;
    for (; !stop.signal.aborted; state.broken = new AbortController()) {
      const signal = AbortSignal.any([stop.signal, state.broken.signal]);
      const end = this.#copy.isBroken ? "stopped" : await this.#followOnce(signal);
      if (stop.signal.aborted) return;
      state.isLoading = true;
      this.#changed();
      await this.#replaceCopy(end === "trimmed" ? "load" : "rebuild", stop.signal);
      state.isLoading = false;
      this.moved();
      this.#changed();
    }
  }

  #followOnce(signal: AbortSignal): ReturnType<typeof follow> {
    const apply = (copy: Copy) => (sequence: number, data: Uint8Array<ArrayBuffer>) =>
      this.#apply(copy, sequence, data, false);
    const { engine } = this.#options;
    const copy = this.#copy.now;
    return follow(
      {
        log: engine.log,
        clock: this.#clock,
        copy,
        apply: apply(copy),
        onProblem: (what) => this.#report(what),
      },
      signal,
    );
  }

  async #apply(
    copy: Copy,
    sequence: number,
    data: Uint8Array<ArrayBuffer>,
    isAnswered: boolean,
  ): Promise<AppliedEntry> {
    const { byteLength } = data;
    const entry = await copy.apply(sequence, data, isAnswered);
    this.#schedule.applied(sequence, byteLength);
    return entry;
  }

  async #replaceCopy(how: "load" | "rebuild", signal: AbortSignal): Promise<void> {
    let problem = this.#uselessLoads === 0 ? undefined : "the copy that was loaded has to be replaced again";
    do {
      if (problem !== undefined) await this.#waitToReplace(problem, signal);
      if (signal.aborted) return;
      problem = await this.#tryToReplace(how, signal);
    } while (problem !== undefined);
    this.#problem = undefined;
  }

  /** Resolves with why the copy could not be replaced. */
  async #tryToReplace(how: "load" | "rebuild", signal: AbortSignal): Promise<string | undefined> {
    if (how === "load") this.#uselessLoads += 1;
    try {
      await (how === "load" ? this.#copy.load(signal) : this.#copy.rebuild());
      return undefined;
    } catch (error) {
      if (how === "rebuild") this.#uselessLoads += 1;
      return error instanceof Error ? error.message : String(error);
    }
  }

  async #waitToReplace(problem: string, signal: AbortSignal): Promise<void> {
    const waitMs = backoffDelayMs(this.#uselessLoads, LOAD_AGAIN, this.#clock.random());
    this.#report(problem, waitMs);
    await this.#clock.sleep(waitMs, signal).catch(() => {});
  }

  /** Reads the log's end from time to time. */
  async #look(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const { sequence } = this.#applied;
      const bounds = await this.#options.engine.log.bounds().catch(() => undefined);
      if (bounds !== undefined && !signal.aborted) this.#saw(bounds.last, sequence);
      await this.#clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
    }
  }

  /** `applied`: what the copy contained before the log was asked. */
  #saw(last: number, applied: number): void {
    if (last < applied) this.#report(lostEntries(applied, last));
    else if (this.#applied.sequence >= last && !this.#isLoading) {
      this.#problem = undefined;
      this.#uselessLoads = 0;
    }
    this.#last = last;
    if (this.#state.kind === "leading") this.#state.leading.sawEnd(last);
    this.#changed();
  }

  get #isLoading(): boolean {
    return this.#state.kind === "following" && this.#state.isLoading;
  }

  status(): ReplicaStatus {
    const { kind } = this.#state;
    const isLoading = this.#isLoading;
    const applied = this.#applied.sequence;
    const health = this.#copy.now.health();
    const problem =
      this.#problem ?? (health.kind === "unavailable" && !isLoading ? health.reason : undefined);
    return {
      role: isLoading ? "loading" : kind,
      applied,
      last: Math.max(this.#last, applied),
      snapshot: this.#schedule.age,
      ...(problem === undefined || kind === "closed" ? {} : { problem }),
    };
  }

  onStatus(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async caughtUp(signal: AbortSignal): Promise<void> {
    const { last } = await this.#options.engine.log.bounds();
    await this.#contains(last, AbortSignal.any([signal, this.#closing.signal]));
  }

  /** Resolves when the copy contains this entry. */
  #contains(sequence: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (settle: () => void): void => {
        this.#onMoved.delete(check);
        signal.removeEventListener("abort", check);
        settle();
      };
      const check = (): void => {
        if (signal.aborted) done(() => reject(new StorageUnavailable("stopped waiting for the log")));
        else if (!this.#isLoading && this.#applied.sequence >= sequence) done(resolve);
      };
      this.#onMoved.add(check);
      signal.addEventListener("abort", check);
      check();
    });
  }

  async lead(term: number, options: LeadOptions): Promise<LeadingStores> {
    const state = this.#state;
    if (state.kind !== "following" || state.isLoading || state.isTakingOver)
      throw new StorageUnavailable(
        state.kind === "following" && state.isTakingOver
          ? "the replica is taking over already"
          : `the replica is ${this.status().role}`,
      );
    state.isTakingOver = true;
    try {
      return await this.#lead(state, term, options);
    } catch (error) {
      if (this.#state === state && state.stop.signal.aborted) this.#setState(this.#followFromNow());
      throw error;
    } finally {
      state.isTakingOver = false;
    }
  }

  async #lead(state: Following, term: number, { onDeposed, signal }: LeadOptions): Promise<LeadingStores> {
    const { engine, node } = this.#options;
    const stop = AbortSignal.any([this.#closing.signal, ...(signal === undefined ? [] : [signal])]);
    const session = `${node}.${term}.${Math.floor(this.#clock.random() * 2 ** 48).toString(36)}`;
    await takeOver(
      {
        log: engine.log,
        clock: this.#clock,
        applied: () => this.#applied,
        caughtUp: (sequence) => this.#contains(sequence, stop),
        takeover: async () => {
          const { seed } = await this.#copy.now.ask("describe", {});
          return { node, term, seed, settings: loggedSettings(this.#options) };
        },
        signal: stop,
      },
      session,
    );
    state.stop.abort();
    await state.ended;
    const leading = await lead({
      engine,
      clock: this.#clock,
      copy: this.#copy.now,
      apply: (...entry) => this.#apply(this.#copy.now, ...entry),
      compacted: (ended) => this.#removeDeleted(AbortSignal.any([ended, this.#closing.signal])),
      ended: (reason) => {
        this.#leadingEnded();
        if (reason !== undefined) onDeposed(reason);
      },
    });
    // Meanwhile it may have been told to stop, or another process took over, or the copy turned out to be damaged.
    if (stop.aborted || this.#copy.isBroken || this.#applied.session !== session) {
      leading.end("the replica does not lead any more");
      throw new StorageUnavailable("the replica was stopped, replaced or damaged while it took over");
    }
    this.#setState({ kind: "leading", leading });
    return leading.stores;
  }

  #leadingEnded(): void {
    if (this.#state.kind === "leading") this.#setState(this.#followFromNow());
  }

  async snapshot(): Promise<SnapshotRecord> {
    const { engine, node } = this.#options;
    return makeSnapshot(engine, this.#copy.now, {
      node,
      keptEntries: KEPT_ENTRIES,
      nowMs: this.#clock.now(),
    });
  }

  /** After a compaction, the log, older snapshots and uploads still have what was deleted. */
  async #removeDeleted(signal: AbortSignal): Promise<void> {
    const { engine, node } = this.#options;
    await engine.snapshots.removeUnfinished();
    for (;;) {
      try {
        await makeSnapshot(engine, this.#copy.now, {
          node,
          keptEntries: 0,
          nowMs: this.#clock.now(),
          signal,
        });
        return;
      } catch (error) {
        // A copy has one snapshot at a time. A backup, or the snapshot that is running, began before the deletion.
        if (!(error instanceof StoreError) || error.code !== "conflict") throw error;
        await this.#clock.sleep(AGAIN_AFTER_MS, signal);
      }
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const state = this.#state;
    this.#closing.abort();
    this.#setState({ kind: "closed" });
    if (state.kind === "leading") state.leading.end("the replica is closed");
    if (state.kind === "following") {
      state.stop.abort();
      await state.ended;
    }
    await this.#copy.now.close();
  }
}
