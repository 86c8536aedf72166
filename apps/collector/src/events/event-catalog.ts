import {
  BEFORE_FIRST,
  type ConfigStore,
  DOCUMENT_KINDS,
  type DocumentPut,
  lastMessageIndex,
  type NewBatch,
  type Offset,
  offsetAt,
  type Store,
  type StoredBatch,
} from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { PlanOf } from "../documents/documents.js";
import type { Logger } from "../process/telemetry/logger.js";
import { countViolation, type EventEntry, eventOf } from "./event-entry.js";
import { HandedOn } from "./handed-on.js";
import { SourceEvents, type SourceEventsDocument } from "./source-events.js";
import { takeBatch } from "./take-batch.js";

/** A message that was refused by its source's plan, and so is not in the log. */
export interface RefusedByPlan {
  readonly sourceId: string;
  readonly atMs: number;
  readonly message: { readonly [field: string]: unknown };
  readonly violation: { readonly path: string; readonly message: string };
}

/** The names of events that each source sent. */
export interface EventCatalog {
  /** The names of a source. */
  of(sourceId: string): Pick<SourceEvents, "list" | "notKept">;
  /** Messages of the log that are not counted yet. */
  readonly behind: number;
  /**
   * Finds the names of a batch before it is stored. Call what it returns with the offset that the batch got; otherwise the batch is read from
   * the log.
   */
  admit(batch: NewBatch): ((first: Offset) => void) | undefined;
  /** Counts a message that never reaches the log. */
  addRefused(refused: RefusedByPlan): void;
  /** Forgets everything, because the log was emptied. */
  clear(): Promise<void>;
  /** Resolves when what was counted is stored. */
  close(): Promise<void>;
}

export interface EventCatalogOptions {
  readonly store: Pick<Store, "log" | "config">;
  readonly planOf: PlanOf;
  readonly isSource: (sourceId: string) => boolean;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn">;
  /** Called with the messages that violated a plan and were stored. */
  readonly onReported: (sourceId: string, messages: number) => void;
}

const READ_LIMITS = { messages: 500, bytes: 256 * 1_024 } as const;
/** How often the end of the log is looked at. More often, each look would read a few messages, at the price of many. */
const IDLE_MS = 1_000;
/** Between two reads, the reader rests this many times as long as it worked: it uses at most a fifth of the thread. */
const REST_FACTOR = 4;
const MIN_REST_MS = 5;
/** Of a name that was sampled often, one message is looked into in this time: its whole request is parsed for it. */
const SAMPLE_EVERY_MS = 1_000;
/** Names are stored together with the position up to which they were counted, so a crash counts no message of the log twice. */
const STORE_EVERY_MS = 10_000;
/** Of a log that was written before there was a catalog, this much is read. */
const MOST_HISTORY = 100_000;
const POSITION_ID = "position";

/** Reads the log behind everything else, and counts what it finds. Forgets sources that are deleted. */
export async function startEventCatalog(options: EventCatalogOptions): Promise<EventCatalog> {
  const catalog = new CatalogReader(options, await readStored(options.store));
  await catalog.forgetDeleted();
  catalog.start();
  return catalog;
}

interface Stored {
  readonly position: Offset | undefined;
  readonly sources: Map<string, SourceEvents>;
}

async function readStored({ config }: { readonly config: ConfigStore }): Promise<Stored> {
  const documents = await config.list<SourceEventsDocument & { readonly position?: Offset }>(
    DOCUMENT_KINDS.eventCatalog,
  );
  const position = documents.find(({ id }) => id === POSITION_ID)?.value.position;
  const sources = documents
    .filter(({ id }) => id !== POSITION_ID)
    .map(({ id, value }) => [id, new SourceEvents(value)] as const);
  return { position, sources: new Map(sources) };
}

class CatalogReader implements EventCatalog {
  readonly #options: EventCatalogOptions;
  readonly #sources: Map<string, SourceEvents>;
  readonly #handedOn = new HandedOn();
  readonly #stopping = new AbortController();
  #position: Offset;
  #storedPosition: Offset;
  #storedAtMs: number;
  /** What was sampled since `#sampledSinceMs`. */
  readonly #sampled = new Set<EventEntry>();
  #sampledSinceMs: number;
  #running: Promise<void> = Promise.resolve();
  readonly #stopWatching: () => void;

  constructor(options: EventCatalogOptions, { position, sources }: Stored) {
    const { store, clock } = options;
    const head = store.log.head();
    this.#options = options;
    this.#sources = sources;
    // A position beyond the head belongs to another data folder.
    this.#position =
      position !== undefined && position <= head
        ? position
        : (Math.max(BEFORE_FIRST, head - MOST_HISTORY) as Offset);
    this.#storedPosition = this.#position;
    this.#storedAtMs = clock.monotonic();
    this.#sampledSinceMs = this.#storedAtMs;
    this.#stopWatching = store.config.watch(({ kind, id, document }) =>
      kind === DOCUMENT_KINDS.source && document === undefined ? this.#forget(id) : undefined,
    );
  }

  /** A source may have been deleted while nobody followed: in a cluster, while there was no owner. */
  async forgetDeleted(): Promise<void> {
    const deleted = [...this.#sources.keys()].filter((id) => !this.#options.isSource(id));
    await Promise.all(deleted.map((id) => this.#forget(id)));
  }

  start(): void {
    this.#running = this.#run(this.#stopping.signal);
  }

  of(sourceId: string): SourceEvents {
    return this.#sources.get(sourceId) ?? new SourceEvents();
  }

  get behind(): number {
    return Math.max(0, this.#options.store.log.head() - this.#position);
  }

  admit(batch: NewBatch): ((first: Offset) => void) | undefined {
    const { sourceId } = batch;
    const events = this.#sources.get(sourceId);
    if (events === undefined || this.#options.planOf(sourceId)?.mode === "report") return undefined;
    const names = this.#handedOn.admit(batch, events, this.#sampled);
    return (
      names &&
      ((first) => {
        this.#handedOn.add(first, names);
        this.#position = this.#handedOn.countAfter(this.#position);
      })
    );
  }

  addRefused({ sourceId, atMs, message, violation }: RefusedByPlan): void {
    const entry = this.#eventsOf(sourceId).entry(eventOf(message), atMs, false);
    if (entry !== undefined)
      countViolation(entry, { path: violation.path, message: violation.message, atMs });
  }

  async #forget(sourceId: string): Promise<void> {
    this.#sources.delete(sourceId);
    await this.#options.store.config.delete(DOCUMENT_KINDS.eventCatalog, sourceId);
  }

  async clear(): Promise<void> {
    this.#position = this.#options.store.log.head();
    this.#handedOn.clear();
    await Promise.all([...this.#sources.keys()].map((id) => this.#forget(id)));
    await this.#store();
  }

  async close(): Promise<void> {
    this.#stopWatching();
    this.#stopping.abort();
    await this.#running;
    // From the stored position on, names are counted again.
    await this.#store().catch((error: unknown) =>
      this.#options.logger.warn("the event catalog was not stored at the end", { error }),
    );
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      let restMs = IDLE_MS;
      try {
        this.#sampleAgain();
        const head = this.#options.store.log.head();
        const workedMs = this.behind > 0 ? await this.#readOn(head) : 0;
        if (this.#position < head) restMs = Math.max(MIN_REST_MS, REST_FACTOR * workedMs);
        if (clock.monotonic() - this.#storedAtMs >= STORE_EVERY_MS) await this.#store();
      } catch (error) {
        // The store reports its own failures; damaged data stays in the way until it is repaired.
        logger.warn("the event catalog cannot read the log or store what it counted; it tries again", {
          error,
        });
        restMs = STORE_EVERY_MS;
      }
      await clock.sleep(restMs, signal).catch(() => {});
    }
  }

  /** Lets messages of all names be looked into again, from time to time. */
  #sampleAgain(): void {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs - this.#sampledSinceMs < SAMPLE_EVERY_MS) return;
    this.#sampled.clear();
    this.#handedOn.askAgain();
    this.#sampledSinceMs = nowMs;
  }

  /** Counts a stretch of the log, up to a batch that was handed on. Resolves with how long that kept the thread. */
  async #readOn(head: Offset): Promise<number> {
    const { store, clock } = this.#options;
    const unknown = (this.#handedOn.next ?? Number.POSITIVE_INFINITY) - 1 - this.#position;
    const messages = Math.max(1, Math.min(READ_LIMITS.messages, unknown));
    const batches = await store.log.read(this.#position, { ...READ_LIMITS, messages });
    // Batches may have been handed on meanwhile.
    const after = this.#position;
    // Retention or a deletion may have removed what is left.
    if (batches.length === 0) this.#position = Math.max(head, this.#position) as Offset;
    const startedMs = clock.monotonic();
    for (const batch of batches) {
      this.#take(batch, after);
      this.#position = Math.max(this.#position, offsetAt(batch.first, lastMessageIndex(batch))) as Offset;
    }
    this.#position = this.#handedOn.countAfter(this.#position);
    return clock.monotonic() - startedMs;
  }

  #take(batch: StoredBatch, after: Offset): void {
    const { planOf, isSource, onReported } = this.#options;
    const { sourceId } = batch;
    // Messages of audiences and deletions, and of sources that were deleted.
    if (!isSource(sourceId)) return;
    const plan = planOf(sourceId);
    const reportsViolations = plan?.mode === "report";
    const events = this.#eventsOf(sourceId);
    const violating = takeBatch(batch, {
      ...{ events, after, plan: plan?.plan, reportsViolations },
      sampled: this.#sampled,
    });
    if (violating > 0) onReported(sourceId, violating);
  }

  #eventsOf(sourceId: string): SourceEvents {
    const known = this.#sources.get(sourceId);
    if (known !== undefined) return known;
    const made = new SourceEvents();
    this.#sources.set(sourceId, made);
    return made;
  }

  /** Stores names and position in one transaction. */
  async #store(): Promise<void> {
    const { config } = this.#options.store;
    this.#storedAtMs = this.#options.clock.monotonic();
    const dirty = [...this.#sources].filter(([, events]) => events.isDirty);
    if (dirty.length === 0 && this.#position === this.#storedPosition) return;
    const position = this.#position;
    const puts: DocumentPut[] = dirty.map(([id, events]) => ({
      kind: DOCUMENT_KINDS.eventCatalog,
      id,
      value: events.document(),
    }));
    await config
      .putAll([...puts, { kind: DOCUMENT_KINDS.eventCatalog, id: POSITION_ID, value: { position } }])
      .catch((error: unknown) => {
        for (const [, events] of dirty) events.isDirty = true;
        throw error;
      });
    this.#storedPosition = position;
  }
}
