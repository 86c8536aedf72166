import { type ProfileStore, StorageUnavailable, type Store } from "@sluice/event-log";
import type { Random } from "./random.js";
import type { World } from "./world.js";

/** How a disk behaves now. */
export interface DiskHealth {
  /** Milliseconds for one sync, at least and at most. */
  readonly syncMs: readonly [least: number, most: number];
  /** Every write fails. */
  readonly fails: boolean;
}

export const GOOD_DISK: DiskHealth = { syncMs: [0, 2], fails: false };

/**
 * The disk of the collector's machine. A write is durable when its sync has ended, and answered a moment later. Writes that arrive during
 * a sync share the next one. A crash in between keeps the first few of the writes that were not synced yet, and answers none.
 */
export class Disk {
  readonly #world: World;
  readonly #random: Random;
  health: DiskHealth = GOOD_DISK;
  /** Called with each write that becomes durable. */
  onDurable: OnDurable = () => {};
  /** Called with each write that was carried out, and its result. */
  onResult: (call: string, args: readonly unknown[], result: unknown) => void = () => {};

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork("disk");
  }

  /** The writes of one process. */
  mount(): Mount {
    return new Mount(this.#world, this.#random, this);
  }
}

/** `call`: port and method, such as `consumers.settle`. */
export type OnDurable = (call: string, args: readonly unknown[]) => void;

interface Write {
  readonly apply: () => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The writes of one process to a disk. */
export class Mount {
  readonly #world: World;
  readonly #random: Random;
  readonly #disk: Disk;
  #queue: Write[] = [];
  /** Writes of the sync that is under way. */
  #syncing: Write[] = [];
  #isAlive = true;
  readonly #detach: (() => void)[] = [];

  constructor(world: World, random: Random, disk: Disk) {
    this.#world = world;
    this.#random = random;
    this.#disk = disk;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get fails(): boolean {
    return this.#disk.health.fails;
  }

  /** Writes in order. Resolves when the write is durable. */
  write<T>(call: string, args: readonly unknown[], run: () => T): Promise<Awaited<T>> {
    return new Promise((resolve, reject) => {
      if (!this.#isAlive) return;
      const apply = async (): Promise<unknown> => {
        this.#disk.onDurable(call, args);
        const result = await run();
        this.#disk.onResult(call, args, result);
        return result;
      };
      this.#queue.push({ apply, resolve: resolve as (value: unknown) => void, reject });
      if (this.#syncing.length === 0) this.#sync();
    });
  }

  /** Calls `detach` when the process ends. */
  onEnd(detach: () => void): void {
    this.#detach.push(detach);
  }

  /** The process ends without warning. */
  crash(): void {
    const unsynced = [...this.#syncing, ...this.#queue];
    this.end();
    const kept = unsynced.length === 0 ? 0 : this.#random.integer(0, unsynced.length);
    for (const { apply } of unsynced.slice(0, kept)) apply().catch(() => {});
    if (unsynced.length > 0) this.#world.note(`disk kept ${kept} of ${unsynced.length} unsynced writes`);
  }

  /** Nothing of this process reaches the disk any more. */
  end(): void {
    this.#isAlive = false;
    this.#queue = [];
    this.#syncing = [];
    for (const detach of this.#detach.splice(0)) detach();
  }

  #sync(): void {
    this.#syncing = this.#queue;
    this.#queue = [];
    const [least, most] = this.#disk.health.syncMs;
    this.#world.after(this.#random.integer(least, most), () => {
      if (this.#isAlive) this.#synced();
    });
  }

  #synced(): void {
    const synced = this.#syncing;
    const { fails } = this.#disk.health;
    const ended = synced.map(({ apply }) =>
      fails ? Promise.reject(new StorageUnavailable("the simulated disk fails")) : apply(),
    );
    this.#syncing = [];
    for (const one of ended) one.catch(() => {});
    this.#world.after(this.#random.integer(0, 1), () => {
      if (!this.#isAlive) return;
      for (const [index, { resolve, reject }] of synced.entries()) ended[index]?.then(resolve, reject);
    });
    if (this.#queue.length > 0) this.#sync();
  }
}

/** Which calls of a port write, and which subscribe a listener. All others read, and read what is durable. */
interface PortCalls {
  readonly name?: string;
  readonly writes: readonly string[];
  readonly subscribes?: readonly string[];
  /** Calls that return their value at once. */
  readonly synchronous?: readonly string[];
}

const STORE_PORTS: Readonly<Record<string, PortCalls>> = {
  log: { writes: ["append"], subscribes: ["onAppend"], synchronous: ["head"] },
  consumers: { writes: ["resumeRetries", "open", "settle", "requeue", "retryNow", "remove"] },
  config: { writes: ["put", "putAll", "delete"], subscribes: ["watch"] },
  rejections: { writes: [], synchronous: ["add"] },
  usage: { writes: [] },
};
const STORE_CALLS: PortCalls = {
  name: "store",
  writes: ["purge", "compact", "clear"],
  subscribes: ["share"],
  synchronous: ["stats", "health"],
};
const PROFILE_CALLS: PortCalls = { name: "profiles", writes: ["commit", "compact"] };

/** The store as a process sees it that may crash. It is never closed: the next process takes it over. */
export function mountedStore(store: Store, mount: Mount): Store {
  const ports = Object.fromEntries(
    Object.entries(STORE_PORTS).map(([name, calls]) => [
      name,
      mounted(store[name as keyof Store] as object, mount, { ...calls, name }),
    ]),
  );
  const calls = mounted(store, mount, STORE_CALLS);
  return new Proxy(store, {
    get(_, name) {
      if (name === "close") return async () => mount.end();
      if (name === "health")
        return () =>
          mount.fails
            ? { kind: "unavailable", reason: "the simulated disk fails", sinceMs: 0 }
            : store.health();
      return ports[String(name)] ?? Reflect.get(calls, name);
    },
  });
}

/** The same for profiles. */
export function mountedProfiles(profiles: ProfileStore, mount: Mount): ProfileStore {
  const calls = mounted(profiles, mount, PROFILE_CALLS);
  return new Proxy(profiles, {
    get: (_, name) => (name === "close" ? async () => {} : Reflect.get(calls, name)),
  });
}

function mounted<Port extends object>(port: Port, mount: Mount, calls: PortCalls): Port {
  const made = new Map<string | symbol, unknown>();
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      if (!made.has(name)) made.set(name, mountedCall(target, member as AnyCall, String(name), mount, calls));
      return made.get(name);
    },
  });
}

type AnyCall = (...args: unknown[]) => unknown;

function mountedCall(target: object, member: AnyCall, key: string, mount: Mount, calls: PortCalls): unknown {
  const call = (...args: unknown[]): unknown => member.apply(target, args);
  if (calls.writes.includes(key))
    return (...args: unknown[]) => mount.write(`${calls.name}.${key}`, args, () => call(...args));
  if (calls.synchronous?.includes(key)) return call;
  if (calls.subscribes?.includes(key)) return subscribed(call, mount);
  return async (...args: unknown[]) => {
    const value = await call(...args);
    return mount.isAlive ? value : new Promise(() => {});
  };
}

/** Listeners of a process that has ended are not called. */
function subscribed(call: (...args: unknown[]) => unknown, mount: Mount): (listener: unknown) => () => void {
  return (listener) => {
    const unsubscribe = call(listener) as () => void;
    mount.onEnd(unsubscribe);
    return unsubscribe;
  };
}
