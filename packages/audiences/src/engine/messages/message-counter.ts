import {
  covers,
  idDigest,
  identityOf,
  lastMessageIndex,
  type Offset,
  offsetAt,
  type SpanIndex,
  StorageUnavailable,
  type StoredBatch,
  type SuppressedId,
  spanIndex,
} from "@sluice/event-log";
import { isBuiltInSource } from "@sluice/protocol";
import {
  type CrashMarker,
  type CrashMarkers,
  isOneByOne,
  MOST_SET_ASIDE,
  markMessage,
  markRequest,
  nextMarker,
  type SetAside,
  type Span,
} from "../../profiles/crash-marker.js";
import type { IdentityPolicy } from "../../profiles/identities.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import { DOCUMENTS, type EngineState, moveCursor } from "../state/engine-state.js";
import type { Make, UnitResult, UnitRunner } from "../state/unit-runner.js";
import { fetchFor, isFetched } from "./fetch-profiles.js";
import {
  type AddressedMessage,
  addressed,
  type LogMessage,
  neededBy,
  readMessages,
} from "./read-messages.js";
import { takeMessage } from "./take-message.js";

/** Suppressed ids, which the engine cannot know by itself. */
export interface SuppressedIds {
  /** The key of their digests. */
  readonly key: Uint8Array;
  readonly ids: readonly SuppressedId[];
}

/**
 * Counts the messages of the log. It stores what it is about to count before it begins: messages over which the engine crashed or failed
 * twice are then taken one by one, and the one over which it fails again is set aside.
 */
export class MessageCounter {
  readonly #units: UnitRunner;
  readonly #markers: CrashMarkers | undefined;
  #suppressed: SpanIndex | undefined;
  #policies: ReadonlyMap<string, IdentityPolicy> = new Map();
  #marker: CrashMarker | undefined;
  /** Whether the marker of the engine before this one was taken over. */
  #isStarted = false;

  /** `markers`: where markers are kept. Default: in the store. */
  constructor(units: UnitRunner, markers?: CrashMarkers) {
    this.#units = units;
    this.#markers = markers;
  }

  suppress({ key, ids }: SuppressedIds): void {
    this.#suppressed ??= spanIndex(idDigest(key));
    for (const one of ids) this.#suppressed.set(one);
  }

  allowJoins(policies: readonly (readonly [sourceId: string, policy: IdentityPolicy])[]): void {
    this.#policies = new Map(policies);
  }

  policyOf(sourceId: string): IdentityPolicy {
    return this.#policies.get(sourceId) ?? "anonymous";
  }

  /** `after`: see `AudienceEngine.consume`. */
  async count(batches: readonly StoredBatch[], nowMs: number, after?: Offset): Promise<UnitResult> {
    const { cursor, storedMarker } = await this.#units.load();
    if (!this.#isStarted) this.#marker = this.#markers === undefined ? storedMarker : this.#markers.load();
    this.#isStarted = true;
    const last = batches.at(-1);
    if (last === undefined || (after ?? cursor) !== cursor) return this.#units.run(nowMs, () => {});
    const to = lastOf(last);
    const from = (cursor + 1) as Offset;
    const marker = nextMarker(this.#marker, { from, to });
    if (isOneByOne(marker)) return this.#countOneByOne(batches, marker, nowMs);
    return this.#guarded(marker, undefined, nowMs, async (unit, loaded) => {
      const messages = batches.flatMap((batch) => this.#messagesOf(batch, loaded));
      await takeMessages(unit, loaded, messages, to);
    });
  }

  async #countOneByOne(
    batches: readonly StoredBatch[],
    marker: CrashMarker,
    nowMs: number,
  ): Promise<UnitResult> {
    const results: UnitResult[] = [];
    this.#marker = marker;
    for (const batch of batches) {
      if (batch.first > marker.to) break;
      try {
        results.push(...(await this.#countBatch(batch, marker, nowMs)));
      } catch (error) {
        // A failure of the store is not the fault of the request or the message: neither counts as begun.
        if (error instanceof StorageUnavailable) this.#stored(marker);
        throw error;
      }
    }
    return combined(results, results.at(-1) ?? (await this.#units.run(nowMs, () => {})));
  }

  async #countBatch(batch: StoredBatch, marker: CrashMarker, nowMs: number): Promise<readonly UnitResult[]> {
    const { sourceId, receivedAtMs } = batch;
    const end = lastOf(batch);
    const loaded = await this.#units.load();
    const span: Span = { from: Math.max(batch.first, loaded.cursor + 1) as Offset, to: end };
    const next = end >= marker.to ? undefined : marker;
    const reading = markRequest(marker, span);
    if (reading === undefined)
      return [await this.#setAside({ kind: "request", ...span, sourceId, receivedAtMs }, next, nowMs)];
    await this.#store(reading);
    const results: UnitResult[] = [];
    for (const message of this.#messagesOf(batch, loaded))
      results.push(await this.#countMessage(message, batch, marker, nowMs));
    results.push(
      await this.#units.run(nowMs, async (unit, state) => {
        await takeMessages(unit, state, [], end);
        this.#storeWith(unit, next);
      }),
    );
    this.#stored(next);
    return results;
  }

  #countMessage(
    message: AddressedMessage,
    batch: StoredBatch,
    marker: CrashMarker,
    nowMs: number,
  ): Promise<UnitResult> {
    const { offset } = message;
    const { sourceId, receivedAtMs } = batch;
    const begun = markMessage(marker, offset);
    if (begun === undefined) {
      const given = { kind: "message", from: offset, to: offset, sourceId, receivedAtMs } as const;
      return this.#setAside({ ...given, ...idOf(message, batch) }, marker, nowMs);
    }
    return this.#guarded(begun, marker, nowMs, (unit, loaded) =>
      takeMessages(unit, loaded, [message], offset),
    );
  }

  /** Goes on without messages over which the engine failed repeatedly. */
  async #setAside(given: SetAside, next: CrashMarker | undefined, nowMs: number): Promise<UnitResult> {
    const result = await this.#units.run(nowMs, (unit, loaded) => {
      loaded.setAside = [...loaded.setAside, given].slice(-MOST_SET_ASIDE);
      unit.setAside.push(given);
      unit.putDocument(DOCUMENTS.setAside, loaded.setAside);
      moveCursor(unit, loaded, given.to);
      this.#storeWith(unit, next);
    });
    this.#stored(next);
    return result;
  }

  /** One unit of work that may crash the engine: `marker` is stored before it, `next` with it. */
  async #guarded(
    marker: CrashMarker,
    next: CrashMarker | undefined,
    nowMs: number,
    make: Make,
  ): Promise<UnitResult> {
    const before = this.#marker;
    try {
      await this.#store(marker);
      const result = await this.#units.run(nowMs, async (unit, loaded) => {
        await make(unit, loaded);
        this.#storeWith(unit, next);
      });
      this.#stored(next);
      return result;
    } catch (error) {
      // A failure of the store is not the messages' fault.
      if (error instanceof StorageUnavailable) this.#stored(before);
      throw error;
    }
  }

  async #store(marker: CrashMarker): Promise<void> {
    if (this.#markers === undefined)
      await this.#units.store.commit({ documents: [[DOCUMENTS.crashMarker, JSON.stringify(marker)]] });
    this.#stored(marker);
  }

  /** Stores the marker in the commit of a unit of work, after which `#stored` is called. */
  #storeWith(unit: UnitOfWork, marker: CrashMarker | undefined): void {
    if (this.#markers === undefined) unit.putDocument(DOCUMENTS.crashMarker, marker);
  }

  /** The store has the marker, or cannot be reached. */
  #stored(marker: CrashMarker | undefined): void {
    this.#markers?.save(marker);
    this.#marker = marker;
  }

  /** The messages of a batch that are to be counted. */
  #messagesOf(batch: StoredBatch, { definitions, cursor }: EngineState): AddressedMessage[] {
    const { sourceId } = batch;
    if (isBuiltInSource(sourceId)) return [];
    const messages = readMessages(batch, neededBy(definitions)).filter(
      (one) => one.offset > cursor && !this.#isSuppressed(one),
    );
    return addressed(messages, sourceId, this.policyOf(sourceId));
  }

  #isSuppressed({ message, offset }: LogMessage): boolean {
    const identity = identityOf(message);
    if (identity === undefined || this.#suppressed === undefined) return false;
    return covers(this.#suppressed.spansOf(identity), offset);
  }
}

/** Counts messages, as many as there is room for. With the last of them everything up to `upTo` is counted. */
async function takeMessages(
  unit: UnitOfWork,
  loaded: EngineState,
  messages: readonly AddressedMessage[],
  upTo: Offset,
): Promise<void> {
  const isNeeded = neededBy(loaded.definitions);
  const { nowMs } = unit;
  await fetchFor(unit, messages, isNeeded);
  let cursor = upTo;
  for (const one of messages) {
    if (!isFetched(unit, one, isNeeded)) {
      cursor = (one.offset - 1) as Offset;
      break;
    }
    unit.nowMs = Math.min(nowMs, one.receivedAtMs);
    takeMessage(unit, loaded, one, isNeeded);
  }
  moveCursor(unit, loaded, cursor);
}

/** One result of several units of work; `last` has the status. */
function combined(results: readonly UnitResult[], last: UnitResult): UnitResult {
  return {
    status: last.status,
    pending: results.flatMap(({ pending }) => pending),
    setAside: results.flatMap(({ setAside }) => setAside),
    refusedJoins: results.flatMap(({ refusedJoins }) => refusedJoins),
    leftOut: {
      traits: results.reduce((sum, { leftOut }) => sum + leftOut.traits, 0),
      ids: results.reduce((sum, { leftOut }) => sum + leftOut.ids, 0),
    },
  };
}

function lastOf(batch: StoredBatch): Offset {
  return offsetAt(batch.first, lastMessageIndex(batch));
}

/** A message's id. It is unknown if the rest of the message was not parsed. */
function idOf({ message, offset }: LogMessage, { first, madeIds }: StoredBatch): { messageId?: string } {
  const id = new Map(madeIds).get(offset - first) ?? message.messageId;
  return typeof id === "string" ? { messageId: id } : {};
}
