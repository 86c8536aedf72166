import type { StoredMessage } from "@sluice/event-log";
import { type EventEntry, newEntry, sampleMessage } from "./event-entry.js";

export const SOURCE_LIMITS = {
  /** Names of one source. Names that its tracking plan has are kept beyond that. */
  names: 1_000,
  /** Properties of all names of one source. */
  properties: 10_000,
  /** A name that nobody sent for this long makes room for a new one. */
  unusedMs: 30 * 24 * 60 * 60 * 1_000,
} as const;

/** The names of one source. JSON, as it is stored. */
export interface SourceEventsDocument {
  readonly entries: readonly EventEntry[];
  /** Messages whose names were not kept. */
  readonly notKept: number;
}

/** The names that one source sent, bounded. */
export class SourceEvents {
  readonly #entries = new Map<string, EventEntry>();
  #notKept: number;
  /** Properties of all names. */
  #properties = 0;
  /** Something changed since the last `document`. */
  isDirty = false;

  constructor(kept?: SourceEventsDocument) {
    this.#notKept = kept?.notKept ?? 0;
    for (const entry of kept?.entries ?? []) {
      const properties = Object.assign(Object.create(null), entry.properties) as EventEntry["properties"];
      this.#entries.set(keyOf(entry), { ...entry, properties });
      this.#properties += Object.keys(properties).length;
    }
  }

  /** The entry of a name, to change it; a new one if there is room. `isPlanned`: the source's plan has the name. */
  entry(event: Pick<EventEntry, "type" | "name">, atMs: number, isPlanned: boolean): EventEntry | undefined {
    this.isDirty = true;
    const key = keyOf(event);
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    if (this.#entries.size >= SOURCE_LIMITS.names && !isPlanned && !this.#makeRoom(atMs)) {
      this.#notKept++;
      return undefined;
    }
    const entry = newEntry(event, atMs);
    this.#entries.set(keyOf(entry), entry);
    return entry;
  }

  /** `key`: as `keyOf` makes it. */
  known(key: string): EventEntry | undefined {
    return this.#entries.get(key);
  }

  /** Whether there is room for the properties of a name. */
  get hasRoomForProperties(): boolean {
    return this.#properties < SOURCE_LIMITS.properties;
  }

  /** Looks into a message of a name. */
  sample(entry: EventEntry, stored: StoredMessage): void {
    this.#properties += sampleMessage(
      entry,
      stored,
      Math.max(0, SOURCE_LIMITS.properties - this.#properties),
    );
  }

  /** By kind and name. */
  list(): readonly EventEntry[] {
    return [...this.#entries.values()].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  }

  /** Messages whose names were not kept. */
  get notKept(): number {
    return this.#notKept;
  }

  document(): SourceEventsDocument {
    this.isDirty = false;
    return { entries: [...this.#entries.values()], notKept: this.#notKept };
  }

  #makeRoom(nowMs: number): boolean {
    let oldest: EventEntry | undefined;
    for (const entry of this.#entries.values())
      if (oldest === undefined || entry.lastMs < oldest.lastMs) oldest = entry;
    if (oldest === undefined || nowMs - oldest.lastMs < SOURCE_LIMITS.unusedMs) return false;
    this.#entries.delete(keyOf(oldest));
    this.#properties -= Object.keys(oldest.properties).length;
    return true;
  }
}

/** Also the id of the name in lists. */
export function keyOf({ type, name }: Pick<EventEntry, "type" | "name">): string {
  return name === undefined ? type : `${type} ${name}`;
}
