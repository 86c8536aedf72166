import type { Clock } from "@sluice/resilience";
import type { Offset } from "../message/offset.js";
import { StorageUnavailable } from "../ports/errors.js";
import type { Store, StoreHealth } from "../ports/store.js";
import { writePosition } from "../rules/page-cursor.js";
import { purgedIdentities, purgedMessages, requestedIdentities } from "../rules/purged-messages.js";
import { memoryConfigStore } from "./config-store.js";
import { memoryConsumers } from "./consumers.js";
import { memoryEventLog } from "./event-log.js";
import { memoryRejectionLog } from "./rejection-log.js";
import { memoryUsageCounters } from "./usage-counters.js";

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
