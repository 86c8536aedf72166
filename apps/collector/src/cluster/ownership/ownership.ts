import type { LeaseRecord, Leases } from "@sluice/event-log";
import type { CancelTimer, Clock } from "@sluice/resilience";
import { type Decision, decide, type OwnState } from "./decide.js";
import { type Lease, type LeaseHolder, readLease, writeLease } from "./lease.js";

/** What runs while this process owns the log. */
export interface Leadership {
  /** Ends it. `hand over`: what is under way is finished first. `lost`: another process may own the log already. */
  end(how: "lost" | "hand over"): Promise<void>;
}

export interface OwnershipOptions {
  readonly leases: Leases;
  /** The key of the lease. */
  readonly key: string;
  readonly self: Pick<LeaseHolder, "node" | "instance" | "address">;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  /** Facts for `decide`, read each time. Call `wake` when one changes. */
  readonly facts: () => {
    readonly isReady: boolean;
    readonly isDrained: boolean;
    readonly hasSuccessor: boolean;
  };
  /**
   * Becomes the owner. Calls `lost` when another process is found to own the log. Rejects soon when `signal` aborts: the process is
   * not to become the owner any more.
   */
  readonly lead: (term: number, lost: (reason: string) => void, signal: AbortSignal) => Promise<Leadership>;
  /** Called after each change of `state` or `lease`. */
  readonly onChange: () => void;
  readonly onStepDown: (how: "lost" | "hand over", reason: string) => void;
  readonly onProblem: (what: string, error: unknown) => void;
}

export type OwnershipState =
  | { readonly kind: "following" }
  /** It holds the lease, catches up and starts its stages. */
  | {
      readonly kind: "starting";
      readonly term: number;
      readonly since: number;
      readonly stop: AbortController;
    }
  | {
      readonly kind: "leading";
      readonly term: number;
      readonly since: number;
      readonly leadership: Leadership;
    }
  /** It still renews the lease if it hands over in order, so that nobody takes it before the last write. */
  | {
      readonly kind: "ending";
      readonly term: number;
      readonly since: number;
      readonly how: "lost" | "hand over";
    };

/** What is written into the lease; without a phase it is given back. */
interface Written {
  readonly term: number;
  readonly phase: LeaseHolder["phase"] | undefined;
  readonly since: number;
}

const FOLLOWING: OwnershipState = { kind: "following" };

/**
 * Takes, renews and gives back the lease of the log. Everything that may change a decision (a timer, a change of the lease, the end
 * of a call) leads to `#step`, which carries out what `decide` says. One write of the lease is under way at a time.
 */
export class Ownership {
  readonly #options: OwnershipOptions;
  readonly #watching = new AbortController();
  #state: OwnershipState = FOLLOWING;
  #lease: Lease | undefined;
  #leaseSeenMs: number;
  #renewedMs = 0;
  #renewDueMs = 0;
  /** The last write of the lease had no answer. */
  #hasFailed = false;
  /** The phase in the lease, as far as it was written by this process. */
  #writtenPhase: LeaseHolder["phase"] | undefined;
  /** After a failed attempt to lead. */
  #notBeforeMs = 0;
  #failures = 0;
  #isWriting = false;
  /** The lease may be written already, and is not to be taken a second time. */
  #isTaking = false;
  #lastWrite: Promise<unknown> = Promise.resolve();
  /** The last write of a term is about to be made: no renewal may follow it. */
  #isReleasing = false;
  #cancelTimer: CancelTimer = () => {};
  /** Set by `leave`. */
  #left: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  constructor(options: OwnershipOptions) {
    this.#options = options;
    this.#leaseSeenMs = options.clock.monotonic();
  }

  get state(): OwnershipState {
    return this.#state;
  }

  /** The lease as last seen. */
  get lease(): Lease | undefined {
    return this.#lease;
  }

  /** It does not become the owner again. */
  get isLeaving(): boolean {
    return this.#left !== undefined;
  }

  /** Begins to follow the lease. Rejects if the engine cannot be reached, or a newer version wrote the lease. */
  async start(): Promise<void> {
    const { leases, key, onProblem } = this.#options;
    this.#see(await leases.get(key));
    leases
      .watch(key, (changed, record) => this.#onWatched(changed, record), this.#watching.signal)
      .catch((error: unknown) => {
        if (!this.#watching.signal.aborted) onProblem("cannot follow the lease", error);
      });
    this.wake();
  }

  /** Looks at all facts again. */
  wake(): void {
    this.#cancelTimer();
    if (this.#state.kind === "following" && !this.#isTaking) this.#left?.resolve();
    if (this.#watching.signal.aborted) return;
    this.#cancelTimer = this.#options.clock.after(this.#nextLookMs(), () => this.wake());
    this.#step();
  }

  /** Hands over if it is the owner, and does not become the owner again. It still sees who is. */
  leave(): Promise<void> {
    if (this.#left === undefined) {
      let resolve = (): void => {};
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#left = { promise, resolve };
      this.wake();
    }
    return this.#left.promise;
  }

  /** Stops looking. Call `leave` before. */
  close(): void {
    this.#watching.abort();
    this.#cancelTimer();
  }

  #onWatched(key: string, record: LeaseRecord | undefined): void {
    if (key !== this.#options.key) return;
    if (record !== undefined && record.revision <= (this.#lease?.revision ?? 0)) return;
    try {
      this.#see(record);
    } catch (error) {
      this.#options.onProblem("cannot read the lease", error);
      return;
    }
    this.wake();
  }

  #see(record: LeaseRecord | undefined): void {
    const lease = record === undefined ? undefined : readLease(record);
    if (lease?.revision === this.#lease?.revision) return;
    // The answer to a call may be older than what was watched meanwhile.
    if (lease !== undefined && this.#lease !== undefined && lease.revision < this.#lease.revision) return;
    this.#leaseSeenMs = this.#options.clock.monotonic();
    this.#lease = lease;
    this.#options.onChange();
  }

  #setState(state: OwnershipState): void {
    this.#state = state;
    this.#options.onChange();
  }

  #step(): void {
    const { state } = this;
    if (state.kind === "ending") {
      if (state.how === "hand over" && this.#isRenewalDue()) this.#renew(state, this.#lease?.revision);
      return;
    }
    const now = this.#options.clock.monotonic();
    const { isReady, ...facts } = this.#options.facts();
    const decision = decide({
      ...facts,
      isReady: isReady && now >= this.#notBeforeMs,
      instance: this.#options.self.instance,
      lease: this.#lease,
      unchangedMs: now - this.#leaseSeenMs,
      own: this.#ownState(state, now),
      isClosing: this.#left !== undefined,
      leaseMs: this.#options.leaseMs,
    });
    this.#carryOut(decision);
  }

  #ownState(state: OwnershipState, now: number): OwnState {
    if (state.kind === "following") return { kind: "follower" };
    return { kind: "holder", term: state.term, sinceRenewalMs: now - this.#renewedMs };
  }

  #carryOut(decision: Decision): void {
    const { state } = this;
    switch (decision.kind) {
      case "wait":
        return;
      case "take":
        if (!this.#isWriting && !this.#isTaking) void this.#take(decision.expected, decision.term);
        return;
      case "renew":
        if (this.#isRenewalDue() && state.kind !== "following") this.#renew(state, decision.expected);
        return;
      case "step down":
        void this.#stepDown(decision.how, decision.reason);
        return;
      default:
        decision satisfies never;
    }
  }

  /** A new phase is written at once, unless the last write failed just now. */
  #isRenewalDue(): boolean {
    if (this.#isWriting || this.#isReleasing) return false;
    const isNewPhase = !this.#hasFailed && this.#writtenPhase !== this.#state.kind;
    return isNewPhase || this.#options.clock.monotonic() >= this.#renewDueMs;
  }

  async #take(expected: number | undefined, term: number): Promise<void> {
    const since = this.#options.clock.now();
    this.#isTaking = true;
    const taken = await this.#write(expected, { term, phase: "starting", since });
    this.#isTaking = false;
    const { holder } = this.#lease ?? {};
    const isHeld = holder?.instance === this.#options.self.instance && this.#lease?.term === term;
    if (taken !== "written" || !isHeld) {
      if (this.isLeaving) this.wake();
      return;
    }
    const stop = new AbortController();
    this.#setState({ kind: "starting", term, since, stop });
    this.wake();
    try {
      stop.signal.throwIfAborted();
      const leadership = await this.#options.lead(
        term,
        (reason) => void this.#stepDown("lost", reason, term),
        stop.signal,
      );
      await this.#started(leadership, term, since);
    } catch (error) {
      if (!stop.signal.aborted) this.#options.onProblem("cannot become the owner", error);
      if (this.#stateNow().kind !== "ending") this.#setState({ kind: "ending", term, since, how: "lost" });
      await this.#release(term);
    }
  }

  /** The stages run. Meanwhile the lease may have been lost. */
  async #started(leadership: Leadership, term: number, since: number): Promise<void> {
    const state = this.#stateNow();
    if (state.kind === "starting" && state.term === term) {
      this.#failures = 0;
      this.#setState({ kind: "leading", term, since, leadership });
      this.wake();
      return;
    }
    await this.#end(leadership, state.kind === "ending" ? state.how : "lost");
    await this.#release(term);
  }

  /** Without the narrowing of the compiler, which does not know that awaiting changes the state. */
  #stateNow(): OwnershipState {
    return this.#state;
  }

  async #stepDown(how: "lost" | "hand over", reason: string, ofTerm?: number): Promise<void> {
    const { state } = this;
    if (state.kind === "following" || state.kind === "ending") return;
    if (ofTerm !== undefined && state.term !== ofTerm) return;
    this.#options.onStepDown(how, reason);
    const { term, since } = state;
    this.#setState({ kind: "ending", term, since, how });
    this.wake();
    // `#take` goes on.
    if (state.kind === "starting") {
      state.stop.abort();
      return;
    }
    await this.#end(state.leadership, how);
    await this.#release(term);
  }

  async #end(leadership: Leadership, how: "lost" | "hand over"): Promise<void> {
    try {
      await leadership.end(how);
    } catch (error) {
      this.#options.onProblem("a stage failed to stop", error);
    }
  }

  /** Becomes a follower, and gives the lease back if it still has it. */
  async #release(term: number): Promise<void> {
    const { state } = this;
    const isInOrder = state.kind === "ending" && state.how === "hand over";
    if (!isInOrder) {
      this.#failures += 1;
      const { leaseMs, clock } = this.#options;
      this.#notBeforeMs = clock.monotonic() + Math.min(leaseMs * 2 ** (this.#failures - 1), 10 * leaseMs);
    }
    this.#isReleasing = true;
    await this.#lastWrite;
    const holder = this.#lease?.holder;
    if (holder?.instance === this.#options.self.instance && this.#lease?.term === term)
      await this.#write(this.#lease.revision, { term, phase: undefined, since: 0 });
    this.#isReleasing = false;
    this.#setState(FOLLOWING);
    this.wake();
  }

  #renew(state: Exclude<OwnershipState, { kind: "following" }>, expected: number | undefined): void {
    void this.#write(expected, { term: state.term, phase: state.kind, since: state.since });
  }

  #write(expected: number | undefined, value: Written): Promise<"written" | "refused" | "unknown"> {
    const written = this.#tryToWrite(expected, value);
    this.#lastWrite = written;
    return written;
  }

  async #tryToWrite(
    expected: number | undefined,
    { term, phase, since }: Written,
  ): Promise<"written" | "refused" | "unknown"> {
    const { leases, key, self, clock, onProblem } = this.#options;
    const beganMs = clock.monotonic();
    const holder = phase === undefined ? undefined : { ...self, phase, sinceMs: since };
    const value = writeLease({ term, holder });
    this.#isWriting = true;
    this.#renewDueMs = beganMs + this.#options.heartbeatMs;
    try {
      const revision = await leases.put(key, value, expected);
      this.#hasFailed = false;
      if (revision === undefined) {
        this.#see(await leases.get(key));
        return "refused";
      }
      this.#renewedMs = beganMs;
      this.#writtenPhase = phase;
      this.#see({ revision, value });
      return "written";
    } catch (error) {
      this.#hasFailed = true;
      onProblem("cannot write the lease", error);
      return "unknown";
    } finally {
      this.#isWriting = false;
      this.#lookAgain();
    }
  }

  /** After a write: its answer may have changed the decision. Not at once, so that the writer's own next step comes first. */
  #lookAgain(): void {
    if (this.#state.kind !== "following" && !this.#isReleasing) queueMicrotask(() => this.wake());
  }

  #nextLookMs(): number {
    const { heartbeatMs, leaseMs, clock } = this.#options;
    if (this.#state.kind !== "following") return heartbeatMs;
    const freeAfterMs = this.#lease?.holder === undefined ? 0 : leaseMs;
    const untilFreeMs = this.#leaseSeenMs + freeAfterMs - clock.monotonic();
    return untilFreeMs > 0 ? Math.min(heartbeatMs, untilFreeMs) : heartbeatMs;
  }
}
