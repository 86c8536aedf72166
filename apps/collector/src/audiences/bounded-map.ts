/**
 * A map that forgets what was not asked for lately, so that it never holds more than `most` entries. Two generations: what is
 * asked for moves to the young one; when that is half of `most`, it becomes the old one and the old one is forgotten.
 * Taking out the oldest of a single map instead costs more the larger the map is: its deleted entries are passed over one by one.
 */
export class BoundedMap<Key, Value> {
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();
  readonly #mostYoung: number;

  constructor(most: number) {
    this.#mostYoung = Math.max(1, Math.floor(most / 2));
  }

  get(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: Key, value: Value): void {
    this.#young.set(key, value);
    if (this.#young.size < this.#mostYoung) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  delete(key: Key): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
