/** The limits of a map. */
export interface MapBounds {
  readonly entries: number;
  /** The sum of the bytes of its entries. */
  readonly bytes: number;
}

interface Entry<Value> {
  readonly value: Value;
  readonly bytes: number;
}

/**
 * A cache that is bounded in entries and bytes. It has two generations: an entry that is read moves to the young one; when that
 * has reached half of the limits it becomes the old one, and the old one is dropped. Deleting the oldest entry of a single `Map`
 * instead gets slower the larger the map is, because each search passes over the deleted entries.
 */
export class BoundedMap<Key, Value> {
  #young = new Map<Key, Entry<Value>>();
  #old = new Map<Key, Entry<Value>>();
  #youngBytes = 0;
  readonly #most: MapBounds;

  constructor({ entries, bytes }: MapBounds) {
    this.#most = { entries: Math.max(1, Math.floor(entries / 2)), bytes: bytes / 2 };
  }

  get(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young.value;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.set(key, old.value, old.bytes);
    return old.value;
  }

  /** An entry with more than half of the allowed bytes is not kept. */
  set(key: Key, value: Value, bytes: number): void {
    this.delete(key);
    if (bytes > this.#most.bytes) return;
    if (this.#youngBytes + bytes > this.#most.bytes) this.#age();
    this.#young.set(key, { value, bytes });
    this.#youngBytes += bytes;
    if (this.#young.size >= this.#most.entries) this.#age();
  }

  delete(key: Key): void {
    this.#youngBytes -= this.#young.get(key)?.bytes ?? 0;
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#youngBytes = 0;
  }

  #age(): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }
}
