import type {
  DeliveryStateView,
  LiveEventView,
  MessageSummary,
  RejectedMessageView,
} from "@sluice/control-api";

export interface ShownOutcome {
  readonly destinationId: string;
  readonly state: DeliveryStateView;
  readonly reason: string;
}

/** A row of the list. */
export type LogEntry =
  | {
      readonly kind: "accepted";
      readonly key: string;
      readonly messageId: string;
      readonly sourceId: string;
      readonly receivedAt: string;
      readonly message: { readonly [field: string]: unknown };
      readonly outcomes: readonly ShownOutcome[];
      /** How it departs from its source's tracking plan. */
      readonly violations?: NonNullable<MessageSummary["violations"]>;
    }
  | {
      readonly kind: "rejected";
      readonly key: string;
      readonly messageId?: string;
      readonly sourceId: string;
      readonly receivedAt: string;
      readonly message: { readonly [field: string]: unknown };
      readonly issues: RejectedMessageView["issues"];
      readonly excerpt: string;
    };

/** Rows kept at most. The oldest are removed first. */
export const MOST_ENTRIES = 100_000;
/** Outcomes that arrive before their message are kept for this many messages. */
const MOST_EARLY_OUTCOMES = 5_000;

/**
 * The rows of the live page, newest first. Live messages are added at the top and history at the bottom, both in constant
 * time. A message that arrives both ways is one row. While the log is on hold, new rows wait and are only counted.
 */
export class LiveLog {
  /** Live rows, oldest first: the last one is row 0. */
  #newer: LogEntry[] = [];
  /** Rows from history, newest first. */
  readonly #older: LogEntry[] = [];
  #held: LogEntry[] = [];
  #isHolding = false;
  readonly #byKey = new Map<string, LogEntry>();
  readonly #keysOfMessage = new Map<string, string[]>();
  readonly #earlyOutcomes = new Map<string, ShownOutcome[]>();
  #notShown = 0;
  #rejectedCount = 0;
  readonly #most: number;

  constructor(most = MOST_ENTRIES) {
    this.#most = most;
  }

  get size(): number {
    return this.#newer.length + this.#older.length;
  }

  /** Rows that wait until the hold ends. */
  get heldCount(): number {
    return this.#held.length;
  }

  /** Messages that the collector skipped because this page was too slow. */
  get notShown(): number {
    return this.#notShown;
  }

  at(index: number): LogEntry | undefined {
    const newest = this.#newer.length - 1 - index;
    const entry = newest >= 0 ? this.#newer[newest] : this.#older[-newest - 1];
    // Outcomes replace the entry in the map only: the arrays hold the order, the map the current entries.
    return entry === undefined ? undefined : this.#byKey.get(entry.key);
  }

  get(key: string): LogEntry | undefined {
    return this.#byKey.get(key);
  }

  indexOf(key: string): number {
    for (let index = 0; index < this.size; index++) if (this.at(index)?.key === key) return index;
    return -1;
  }

  /** The index of a row. If its key is gone, the first row that is older. -1: not read yet. */
  positionOf({ key, receivedAt }: Pick<LogEntry, "key" | "receivedAt">): number {
    const exact = this.#byKey.has(key) ? this.indexOf(key) : -1;
    if (exact >= 0) return exact;
    for (let index = 0; index < this.size; index++)
      if ((this.at(index)?.receivedAt ?? "") < receivedAt) return index;
    return -1;
  }

  hold(isHolding: boolean): void {
    this.#isHolding = isHolding;
    if (isHolding) return;
    for (const entry of this.#held) this.#newer.push(entry);
    this.#held = [];
    this.#trim();
  }

  /** Adds events of the live stream. */
  take(events: readonly LiveEventView[]): void {
    for (const event of events) {
      if (event.kind === "message")
        this.#add({ ...event, kind: "accepted", key: keyOf(event), outcomes: [] });
      else if (event.kind === "rejected") {
        this.#rejectedCount++;
        this.#add(rejectedEntry(event, `live-${this.#rejectedCount}`));
      } else if (event.kind === "outcome") this.#addOutcome(event.messageId, event);
      else if (event.kind === "dropped") this.#notShown += event.messages;
    }
    this.#trim();
  }

  /** Adds a page of history, newest first. All its rows must be older than the rows in the log. */
  takeOlder(entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      if (this.#byKey.has(entry.key) || this.size + this.#held.length >= this.#most) continue;
      this.#remember(entry);
      this.#older.push(entry);
    }
  }

  #add(entry: LogEntry): void {
    if (this.#byKey.has(entry.key)) return;
    this.#remember(entry);
    (this.#isHolding ? this.#held : this.#newer).push(entry);
  }

  #remember(entry: LogEntry): void {
    const { messageId } = entry;
    this.#byKey.set(entry.key, entry);
    if (messageId === undefined) return;
    this.#keysOfMessage.set(messageId, [...(this.#keysOfMessage.get(messageId) ?? []), entry.key]);
    const early = this.#earlyOutcomes.get(messageId);
    if (early === undefined) return;
    this.#earlyOutcomes.delete(messageId);
    for (const outcome of early) this.#addOutcome(messageId, outcome);
  }

  #addOutcome(messageId: string, { destinationId, state, reason }: ShownOutcome): void {
    const outcome = { destinationId, state, reason };
    const keys = this.#keysOfMessage.get(messageId);
    if (keys === undefined) {
      if (this.#earlyOutcomes.size >= MOST_EARLY_OUTCOMES) this.#earlyOutcomes.clear();
      this.#earlyOutcomes.set(messageId, [...(this.#earlyOutcomes.get(messageId) ?? []), outcome]);
      return;
    }
    for (const key of keys) {
      const entry = this.#byKey.get(key);
      if (entry?.kind !== "accepted") continue;
      const others = entry.outcomes.filter((one) => one.destinationId !== destinationId);
      this.#byKey.set(key, { ...entry, outcomes: [...others, outcome] });
    }
  }

  #trim(): void {
    let over = this.size + this.#held.length - this.#most;
    if (over <= 0) return;
    // A tenth at a time, so that a full log does not move its arrays for every message.
    over = Math.max(over, Math.ceil(this.#most / 10));
    const fromOlder = this.#older.splice(Math.max(0, this.#older.length - over));
    const fromNewer = this.#newer.splice(0, over - fromOlder.length);
    const fromHeld = this.#held.splice(0, over - fromOlder.length - fromNewer.length);
    for (const { key, messageId } of [...fromOlder, ...fromNewer, ...fromHeld]) {
      this.#byKey.delete(key);
      if (messageId === undefined) continue;
      // Other sources may have sent a message of the same id.
      const others = this.#keysOfMessage.get(messageId)?.filter((one) => one !== key) ?? [];
      if (others.length === 0) this.#keysOfMessage.delete(messageId);
      else this.#keysOfMessage.set(messageId, others);
    }
  }
}

function keyOf({ sourceId, messageId }: { sourceId: string; messageId: string }): string {
  return `${sourceId} ${messageId}`;
}

export function acceptedEntry(summary: MessageSummary): LogEntry {
  const { messageId, sourceId, receivedAt, message, outcomes, violations } = summary;
  return {
    kind: "accepted",
    key: keyOf(summary),
    ...{ messageId, sourceId, receivedAt, message, outcomes },
    ...(violations === undefined ? {} : { violations }),
  };
}

/** Rejected messages may have no id. `place` makes the key unique. */
export function rejectedEntry(rejected: Omit<RejectedMessageView, "state">, place: string): LogEntry {
  const { messageId, sourceId, receivedAt, type, issues, excerpt } = rejected;
  return {
    kind: "rejected",
    key: `rejected ${place}`,
    ...(messageId === undefined ? {} : { messageId }),
    sourceId,
    receivedAt,
    message: { ...readExcerpt(excerpt), ...(type === undefined ? {} : { type }) },
    issues,
    excerpt,
  };
}

/** The rejected message, if the excerpt contains all of it. */
function readExcerpt(excerpt: string): { readonly [field: string]: unknown } {
  try {
    const value: unknown = JSON.parse(excerpt);
    return typeof value === "object" && value !== null ? (value as { [field: string]: unknown }) : {};
  } catch {
    return {};
  }
}
