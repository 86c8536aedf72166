/** How much a map holds. */
export interface MapBounds {
  readonly entries: number;
  /** The sum of what its entries weigh, in bytes. */
  readonly bytes: number;
}

interface Entry<Value> {
  readonly value: Value;
  readonly bytes: number;
}

/**
 * A map that forgets what was not asked for lately, so that it never holds more entries, or more bytes, than it may. Two generations:
 * what is asked for moves to the young one; when that is half of what the map may hold, it becomes the old one and the old one is
 * forgotten. Taking out the oldest of a single map instead costs more the larger the map is: its deleted entries are passed
 * over one by one.
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

  /** One that alone weighs more than half of what the map may hold is not kept. */
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
