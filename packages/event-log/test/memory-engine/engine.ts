import {
  type EngineHealth,
  EngineUnavailable,
  type LeaseRecord,
  type Leases,
  type LogAppend,
  type LogEntry,
  type ReplicatedLog,
  type ReplicationEngine,
  type SnapshotStorage,
} from "../../src/replicated/engine.js";
import type { MemoryLeases } from "./leases.js";
import type { MemoryLog } from "./log.js";
import type { MemorySnapshots } from "./snapshots.js";

/** What becomes of an append. `now` runs it, once or several times, now or later. */
export type AppendFault = (now: () => LogAppend) => Promise<LogAppend>;

/** The faults of one node. */
export interface NodeFaults {
  /** Cuts the node off. Every call fails, appends with `unknown`, and reads stop. */
  cut(): void;
  heal(): void;
  /** Called for each append. Default: it runs at once. */
  append: AppendFault;
}

interface Shared {
  readonly log: MemoryLog;
  readonly leases: MemoryLeases;
  readonly snapshots: MemorySnapshots;
}

const PART_BYTES = 128 * 1024;
const CUT: LogAppend = { kind: "unknown", reason: "the engine cannot be reached" };

/** One node's view of the shared engine. */
export class MemoryEngine implements ReplicationEngine {
  readonly #shared: Shared;
  readonly #listeners = new Set<() => void>();
  /** Called when the node is cut off, healed or closed. */
  readonly #changed = new Set<() => void>();
  #health: EngineHealth = { kind: "connected" };
  #isClosed = false;
  readonly faults: NodeFaults;

  constructor(shared: Shared) {
    this.#shared = shared;
    this.faults = {
      cut: () =>
        this.#setHealth({
          kind: "disconnected",
          reason: CUT.kind === "unknown" ? CUT.reason : "",
          sinceMs: 0,
        }),
      heal: () => this.#setHealth({ kind: "connected" }),
      append: async (now) => now(),
    };
  }

  get #isCut(): boolean {
    return this.#isClosed || this.#health.kind === "disconnected";
  }

  #setHealth(health: EngineHealth): void {
    this.#health = health;
    for (const listener of [...this.#changed, ...this.#listeners]) listener();
  }

  #check(): void {
    if (this.#isCut) throw new EngineUnavailable("the engine cannot be reached");
  }

  get log(): ReplicatedLog {
    const { log } = this.#shared;
    return {
      maxEntryBytes: log.maxEntryBytes,
      append: async (data, expectedLast) => {
        await turn();
        if (this.#isCut) return CUT;
        // As it is now: the caller may move the bytes to another thread.
        const copied = Uint8Array.from(data);
        const answer = await this.faults.append(() => log.append(copied, expectedLast));
        await turn();
        return this.#isCut ? CUT : answer;
      },
      bounds: async () => {
        await turn();
        this.#check();
        return log.bounds;
      },
      read: (after, signal) => this.#read(after, signal),
      trim: async (upTo) => {
        await turn();
        this.#check();
        log.trim(upTo);
      },
    };
  }

  async *#read(after: number, signal: AbortSignal): AsyncGenerator<LogEntry> {
    for (let at = after; !signal.aborted; ) {
      const entry = this.#isCut ? undefined : this.#shared.log.next(at);
      if (entry === undefined) await this.#change(signal);
      else {
        await turn();
        yield entry;
        at = entry.sequence;
      }
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        stop();
        this.#changed.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const stop = this.#shared.log.onAppend(done);
      this.#changed.add(done);
      signal.addEventListener("abort", done);
    });
  }

  get leases(): Leases {
    const { leases } = this.#shared;
    const asked = async <T>(run: () => T): Promise<T> => {
      await turn();
      this.#check();
      const answer = run();
      // What the call did is watched before it is answered.
      await turn();
      return answer;
    };
    return {
      get: (key) => asked(() => leases.get(key)),
      list: (prefix) => asked(() => leases.list(prefix)),
      put: (key, value, expected) => asked(() => leases.put(key, value, expected)),
      remove: (key, expected) => asked(() => leases.remove(key, expected)),
      watch: (prefix, listener, signal) => this.#watch(prefix, listener, signal),
    };
  }

  async #watch(
    prefix: string,
    listener: (key: string, record: LeaseRecord | undefined) => void,
    signal: AbortSignal,
  ): Promise<void> {
    await turn();
    this.#check();
    const { leases } = this.#shared;
    /** The revision of each key that the listener knows. */
    const known = new Map<string, number>();
    const tell = (key: string, record: LeaseRecord | undefined): void => {
      if (!key.startsWith(prefix) || this.#isCut) return;
      if (record === undefined) known.delete(key);
      else known.set(key, record.revision);
      listener(key, record);
    };
    const catchUp = (): void => {
      for (const { key, ...record } of leases.list(prefix))
        if (known.get(key) !== record.revision) tell(key, record);
      for (const key of [...known.keys()]) if (leases.get(key) === undefined) tell(key, undefined);
    };
    catchUp();
    const stop = leases.watch(tell);
    this.#changed.add(catchUp);
    signal.addEventListener("abort", () => {
      stop();
      this.#changed.delete(catchUp);
    });
  }

  get snapshots(): SnapshotStorage {
    const { snapshots } = this.#shared;
    const asked = async <T>(run: () => T): Promise<Awaited<T>> => {
      await turn();
      this.#check();
      return await run();
    };
    return {
      put: (name, metadata, parts) => asked(() => snapshots.put(name, metadata, parts)),
      get: (name) =>
        asked(() => {
          const bytes = snapshots.get(name);
          return bytes && inParts(bytes, () => snapshots.check(name));
        }),
      list: () => asked(() => snapshots.list()),
      remove: (name) => asked(() => snapshots.remove(name)),
      removeUnfinished: () => asked(() => snapshots.removeUnfinished()),
    };
  }

  health(): EngineHealth {
    return this.#health;
  }

  onHealth(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const listener of this.#changed) listener();
  }
}

async function* inParts(bytes: Uint8Array, check: () => void): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += PART_BYTES) yield bytes.slice(at, at + PART_BYTES);
  check();
}

/** Answers of a network never come in the same turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
