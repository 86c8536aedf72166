import type { Clock } from "@sluice/resilience";
import type { Offset } from "../message/batch.js";
import type { ConfigChange, ConfigStore, DocumentPut, Versioned } from "../ports/documents.js";
import { StorageUnavailable, VersionConflict } from "../ports/errors.js";
import type { Store, StoreHealth } from "../ports/store.js";
import { configWatchers } from "../rules/following.js";
import { writePosition } from "../rules/page-cursor.js";
import { purgedIdentities, purgedMessages, requestedIdentities } from "../rules/purging.js";
import { memoryConsumers } from "./consumers.js";
import { memoryEventLog } from "./event-log.js";
import { memoryRejectionLog, memoryUsageCounters } from "./rejection-log.js";

/** A manual clock lets no time pass during a `turn`, which takes one of the event loop. */
type StoreClock = Clock & { turn?(): Promise<void> };

export interface MemoryStoreOptions {
  readonly clock: StoreClock;
  /** How long a (source, messageId) is remembered, in milliseconds. Default: 86_400_000 (24 h). */
  readonly dedupeWindowMs?: number;
  /** How many refused messages are kept. Default: 10_000. */
  readonly rejectionsKept?: number;
}

/** The test double of the embedded store. Its answers take turns of the event loop, as a thread's do. It can be made to fail. */
export interface MemoryStore extends Store {
  /** Makes every write reject with `StorageUnavailable` until `repair()`. */
  breakDown(reason: string): void;
  repair(): void;
}

/** Opens a store in memory. It keeps the same contracts as the embedded store. */
export function openMemoryStore({
  clock,
  dedupeWindowMs = 86_400_000,
  rejectionsKept = 10_000,
}: MemoryStoreOptions): MemoryStore {
  const usage = memoryUsageCounters();
  const log = memoryEventLog({
    clock,
    dedupeWindowMs,
    usage,
    hasOutcome: (offset, state) => consumers.isSettledAs(offset, state),
  });
  const consumers = memoryConsumers({ clock, log, usage });
  const config = memoryConfigStore();
  const rejections = memoryRejectionLog(rejectionsKept);
  let health: StoreHealth = { kind: "ready" };
  let closed = false;

  const mayRead = (): void => {
    if (closed) throw new StorageUnavailable("the store is closed");
  };
  const mayWrite = (): void => {
    mayRead();
    if (health.kind === "unavailable") throw new StorageUnavailable(health.reason);
  };

  const turn = (): Promise<void> => clock.turn?.() ?? new Promise((resolve) => setImmediate(resolve));
  const guard = { mayRead, mayWrite, turn };

  return {
    log: guarded(log, guard, ["append"]),
    consumers: guarded(consumers, guard, ["open", "settle", "requeue", "retryNow", "remove"]),
    config: guarded(config, guard, ["put", "putAll", "delete"]),
    rejections: guarded(rejections, guard, []),
    usage: guarded(usage, guard, []),
    async purge(query, signal) {
      mayWrite();
      signal?.throwIfAborted();
      const cursor = writePosition(log.head() + 1);
      const offsets: Offset[] = [];
      for (const wanted of purgedMessages(query)) {
        const { items } = await log.find(wanted, { limit: Number.MAX_SAFE_INTEGER, cursor });
        // Delete messages are not indexed under their user: another deletion of the user must not remove them.
        const removed = items.filter(
          ({ message }) => wanted.messageId !== undefined || message.type !== "delete",
        );
        offsets.push(...removed.map((item) => item.offset));
      }
      log.overwrite(offsets);
      rejections.purge(purgedIdentities(query), requestedIdentities(query));
      return { messages: offsets.length, ...consumers.purge(offsets) };
    },
    compact: async () => {},
    async clear() {
      mayWrite();
      for (const part of [log, consumers, rejections, usage]) part.clear();
    },
    health: () => (closed ? { kind: "unavailable", reason: "closed", sinceMs: clock.now() } : health),
    stats() {
      const { messages, bytes } = log.size();
      return { messages, bytes };
    },
    async close() {
      closed = true;
    },
    breakDown(reason) {
      health = { kind: "unavailable", reason, sinceMs: clock.now() };
    },
    repair() {
      health = { kind: "ready" };
    },
  };
}

/** Synchronous methods, which work in every state. */
const SYNCHRONOUS: ReadonlySet<PropertyKey> = new Set(["head", "onAppend", "watch", "add"]);

interface Guard {
  mayRead(): void;
  mayWrite(): void;
  turn(): Promise<void>;
}

/** Wraps a port so that its asynchronous methods take turns, and reject while the store is closed or broken. */
function guarded<T extends object>(
  port: T,
  { mayRead, mayWrite, turn }: Guard,
  writes: readonly (keyof T)[],
): T {
  return new Proxy(port, {
    get(target, name, receiver) {
      const member = Reflect.get(target, name, receiver);
      if (typeof member !== "function" || SYNCHRONOUS.has(name)) return member;
      return async (...args: unknown[]) => {
        if (writes.includes(name as keyof T)) mayWrite();
        else mayRead();
        await turn();
        const answer = await member.apply(target, args);
        await turn();
        return answer;
      };
    },
  });
}

export function memoryConfigStore(): ConfigStore {
  /** Documents as JSON, so that no caller holds a reference into the store. */
  const kinds = new Map<string, Map<string, { version: number; json: string }>>();
  const watchers = configWatchers();
  const putAll = async (puts: readonly DocumentPut[]): Promise<number[]> => {
    const versions = puts.map(({ kind, id, expected }) => {
      const current = kinds.get(kind)?.get(id)?.version ?? 0;
      if (expected !== undefined && expected !== current) throw new VersionConflict(kind, id, current);
      return current + 1;
    });
    const changes = puts.map(({ kind, id, value }, index): ConfigChange => {
      const documents = kinds.get(kind) ?? new Map<string, { version: number; json: string }>();
      const version = versions[index] ?? 1;
      const json = JSON.stringify(value);
      kinds.set(kind, documents.set(id, { version, json }));
      return { kind, id, document: { id, version, value: JSON.parse(json) } };
    });
    await watchers.notify(changes);
    return versions;
  };

  return {
    async get<T>(kind: string, id: string) {
      const found = kinds.get(kind)?.get(id);
      return found && { id, version: found.version, value: JSON.parse(found.json) as T };
    },
    async list<T>(kind: string): Promise<readonly Versioned<T>[]> {
      return [...(kinds.get(kind) ?? [])].map(([id, { version, json }]) => ({
        id,
        version,
        value: JSON.parse(json) as T,
      }));
    },
    async put<T>(kind: string, id: string, value: T, expected?: number) {
      const [version] = await putAll([{ kind, id, value, ...(expected === undefined ? {} : { expected }) }]);
      return { id, version: version ?? 1, value };
    },
    async putAll(puts) {
      const versions = await putAll(puts);
      return puts.map(({ id, value }, index) => ({ id, version: versions[index] ?? 1, value }));
    },
    async delete(kind, id) {
      const existed = kinds.get(kind)?.delete(id) ?? false;
      if (existed) await watchers.notify([{ kind, id }]);
      return existed;
    },
    watch: (listener) => watchers.watch(listener),
  };
}
