import type { LeaseRecord, Leases } from "@sluice/event-log";
import type { CancelTimer, Clock } from "@sluice/resilience";
import { type Member, type MemberFacts, readMember, writeMember } from "./member.js";

export interface MembershipOptions {
  readonly leases: Leases;
  readonly clock: Clock;
  readonly heartbeatMs: number;
  /** This process, as it is now. */
  readonly self: () => MemberFacts;
  readonly onChange: () => void;
  /** Another process with the same name was there first. */
  readonly onNameTaken: (by: MemberFacts) => void;
  readonly onProblem: (what: string, error: unknown) => void;
}

/** A process that was silent for this many heartbeats does not count as alive. */
const ALIVE_HEARTBEATS = 4;
const FORGOTTEN_AFTER_MS = 60 * 60 * 1_000;
const MEMBERS = "members.";
const DRAINED = "drained.";

/** The engine does not take what this process writes every few seconds. */
export interface EngineTrouble {
  readonly reason: string;
  /** By the monotonic clock. */
  readonly sinceMs: number;
}

interface SeenMember {
  readonly facts: MemberFacts;
  readonly revision: number;
  readonly seenMs: number;
}

/** The processes of the cluster: each keeps a record of its own, and reads those of the others. */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #watching = new AbortController();
  readonly #seen = new Map<string, SeenMember>();
  readonly #drained = new Map<string, number>();
  /** Counts the changes of `#drained`. */
  #drainsSeen = 0;
  #cancelTimer: CancelTimer = () => {};
  #beating: Promise<void> | undefined;
  #beatAgain = false;
  #hasWritten = false;
  #isClosed = false;
  #trouble: EngineTrouble | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** Writes the own record, and reads those of the others. */
  async start(): Promise<void> {
    const { leases, onProblem } = this.#options;
    for (const prefix of [MEMBERS, DRAINED]) {
      for (const { key, ...record } of await leases.list(prefix)) this.#see(key, record);
      leases
        .watch(prefix, (key, record) => this.#see(key, record), this.#watching.signal)
        .catch((error: unknown) => {
          if (!this.#isClosed) onProblem("cannot follow the other processes", error);
        });
    }
    this.beat();
    await this.#beating;
  }

  /** Undefined while the engine takes this process's record. */
  get trouble(): EngineTrouble | undefined {
    return this.#trouble;
  }

  /** All known processes, in the order of their names. */
  members(): readonly Member[] {
    const { clock, heartbeatMs } = this.#options;
    const now = clock.monotonic();
    return [...this.#seen.values()]
      .map(({ facts, revision, seenMs }) => ({
        ...facts,
        revision,
        isDrained: this.#drained.has(facts.node),
        isAlive: now - seenMs <= ALIVE_HEARTBEATS * heartbeatMs,
        silentMs: now - seenMs,
        missedBeats: Math.floor((now - seenMs) / heartbeatMs),
      }))
      .sort((a, b) => (a.node < b.node ? -1 : 1));
  }

  isDrained(node: string): boolean {
    return this.#drained.has(node);
  }

  /** Resolves with false if there is no such process. */
  async drain(node: string): Promise<boolean> {
    if (!this.#seen.has(node)) return false;
    const { leases, clock } = this.#options;
    const key = `${DRAINED}${node}`;
    const value = JSON.stringify({ sinceMs: clock.now() });
    const seen = this.#drainsSeen;
    for (;;) {
      const record = await leases.get(key);
      const revision = record?.revision ?? (await leases.put(key, value, undefined));
      if (revision === undefined) continue;
      this.#seeUnlessWatched(seen, key, { revision, value });
      return true;
    }
  }

  /** Resolves with false if there is no such process, drained or not. */
  async cancelDrain(node: string): Promise<boolean> {
    const { leases } = this.#options;
    const key = `${DRAINED}${node}`;
    const seen = this.#drainsSeen;
    for (;;) {
      const record = await leases.get(key);
      if (record === undefined) return this.#seen.has(node);
      if (!(await leases.remove(key, record.revision))) continue;
      this.#seeUnlessWatched(seen, key, undefined);
      return true;
    }
  }

  /** The answer to a call may be older than what was watched since the call began. */
  #seeUnlessWatched(seen: number, key: string, record: LeaseRecord | undefined): void {
    if (seen === this.#drainsSeen) this.#see(key, record);
  }

  /** Writes the own record now, because it has changed. */
  beat(): void {
    if (this.#isClosed) return;
    this.#beatAgain = true;
    this.#beating ??= this.#beats();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelTimer();
    this.#watching.abort();
    await this.#beating;
    const { leases, self } = this.#options;
    const { node, instance } = self();
    const key = `${MEMBERS}${node}`;
    try {
      const record = await leases.get(key);
      if (record !== undefined && readMember(record)?.instance === instance)
        await leases.remove(key, record.revision);
    } catch {
      // The record is forgotten later.
    }
  }

  #see(key: string, record: LeaseRecord | undefined): void {
    if (key.startsWith(DRAINED)) this.#seeDrain(key.slice(DRAINED.length), record);
    else this.#seeMember(key.slice(MEMBERS.length), record);
    this.#options.onChange();
  }

  #seeDrain(node: string, record: LeaseRecord | undefined): void {
    this.#drainsSeen += 1;
    if (record === undefined) this.#drained.delete(node);
    else this.#drained.set(node, record.revision);
  }

  #seeMember(node: string, record: LeaseRecord | undefined): void {
    if (record === undefined) {
      this.#seen.delete(node);
      return;
    }
    const { revision } = record;
    if (revision <= (this.#seen.get(node)?.revision ?? 0)) return;
    const facts = readMember(record);
    if (facts !== undefined)
      this.#seen.set(node, { facts, revision, seenMs: this.#options.clock.monotonic() });
  }

  async #beats(): Promise<void> {
    while (this.#beatAgain && !this.#isClosed) {
      this.#beatAgain = false;
      try {
        await this.#writeOwn();
        await this.#forgetSilent();
        this.#trouble = undefined;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        this.#trouble = { reason, sinceMs: this.#trouble?.sinceMs ?? this.#options.clock.monotonic() };
        this.#options.onProblem("cannot write the record of this process", error);
      }
    }
    this.#beating = undefined;
    this.#cancelTimer();
    if (this.#isClosed) return;
    this.#cancelTimer = this.#options.clock.after(this.#options.heartbeatMs, () => {
      this.beat();
      // Somebody may have become silent.
      this.#options.onChange();
    });
  }

  async #writeOwn(): Promise<void> {
    const { leases, self, onNameTaken } = this.#options;
    const facts = self();
    const key = `${MEMBERS}${facts.node}`;
    const present = this.#seen.get(facts.node);
    // Before its first write, another instance's record is that of a process that has ended, or of one that will write it again.
    if (this.#hasWritten && present !== undefined && present.facts.instance !== facts.instance) {
      if (isBefore(present.facts, facts)) {
        onNameTaken(present.facts);
        return;
      }
    }
    const value = writeMember(facts);
    const revision = await leases.put(key, value, present?.revision);
    if (revision !== undefined) {
      this.#hasWritten = true;
      this.#see(key, { revision, value });
      return;
    }
    this.#see(key, await leases.get(key));
    this.#beatAgain = true;
  }

  async #forgetSilent(): Promise<void> {
    for (const { node, revision, silentMs } of this.members())
      if (silentMs > FORGOTTEN_AFTER_MS) await this.#options.leases.remove(`${MEMBERS}${node}`, revision);
  }
}

/** Of two processes with one name the one that started later has to go. */
function isBefore(one: MemberFacts, other: MemberFacts): boolean {
  return one.startedAtMs === other.startedAtMs
    ? one.instance < other.instance
    : one.startedAtMs < other.startedAtMs;
}
