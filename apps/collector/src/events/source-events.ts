import { hash } from "node:crypto";
import type { StoredMessage } from "@sluice/event-log";
import { type EventEntry, newEntry, sampleMessage } from "./event-entry.js";

const REGISTERS = 256;
const ALPHA = 0.7213 / (1 + 1.079 / REGISTERS);

/** About how many different texts were added, in 256 bytes and within some 7 %: HyperLogLog (Flajolet et al., 2007). */
interface DistinctCount {
  add(text: string): void;
  estimate(): number;
  /** The state, to go on later. */
  registers(): readonly number[];
}

function distinctCount(kept: readonly number[] = []): DistinctCount {
  const registers = Uint8Array.from({ length: REGISTERS }, (_, index) => kept[index] ?? 0);
  return {
    add(text) {
      const digest = hash("sha256", text, "buffer");
      const register = digest.readUInt8(0);
      const rank = Math.clz32(digest.readUInt32BE(1)) + 1;
      registers[register] = Math.max(registers[register] ?? 0, rank);
    },
    estimate() {
      const empty = registers.filter((rank) => rank === 0).length;
      // Few texts: the share of empty registers is more exact.
      if (empty > 0) {
        const few = REGISTERS * Math.log(REGISTERS / empty);
        if (few <= 2.5 * REGISTERS) return Math.round(few);
      }
      const sum = registers.reduce((total, rank) => total + 2 ** -rank, 0);
      return Math.round((ALPHA * REGISTERS ** 2) / sum);
    },
    registers: () => [...registers],
  };
}

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
  /** Registers of the count of names that were not kept. */
  readonly notKept: readonly number[];
}

/** The names that one source sent, bounded. */
export class SourceEvents {
  readonly #entries = new Map<string, EventEntry>();
  readonly #notKept: DistinctCount;
  /** Properties of all names. */
  #properties = 0;
  /** Something changed since the last `document`. */
  isDirty = false;

  constructor(kept?: SourceEventsDocument) {
    this.#notKept = distinctCount(kept?.notKept);
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
      this.#notKept.add(key);
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

  /** About how many names were not kept. */
  get notKept(): number {
    return this.#notKept.estimate();
  }

  document(): SourceEventsDocument {
    this.isDirty = false;
    return { entries: [...this.#entries.values()], notKept: this.#notKept.registers() };
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
