import { idOf } from "../../message/identity.js";
import type { FinalState } from "../../ports/consumers.js";
import type { MessageQuery } from "../../ports/event-log.js";
import { classMask, hashKey, hashPrefix, type KeyHashes, USER_PREFIX } from "../calls/key-hash.js";
import type { LogRow } from "../calls/log-row.js";
import type { FindAnswer, FindRequest } from "../calls/operations.js";
import type { ConsumerTables } from "../consumers/consumer-tables.js";
import type { OpenSegment } from "../index/open-segment.js";
import { SEGMENT_STATE, type SealedSegment, type Segments } from "../index/segments.js";
import type { Log } from "../log/log.js";
import type { DeliveryList } from "./delivery-list.js";

/** What one call reads at most: a longer search goes on with the next call, after others' turns. */
const ROW_BYTES_AT_ONCE = 1024 * 1024;
const SEGMENTS_AT_ONCE = 16;
const OFFSETS_AT_ONCE = 256;
const OUTCOMES_AT_ONCE = 512;

/** Finds messages from the newest down, by the segments' indexes where the query names an id, a user, a type or an event. */
export class MessageSearch {
  readonly #log: Log;
  readonly #segments: Segments;
  readonly #seed: number;
  readonly #consumers: ConsumerTables;
  readonly #deliveries: DeliveryList;

  constructor(
    log: Log,
    segments: Segments,
    seed: number,
    consumers: ConsumerTables,
    deliveries: DeliveryList,
  ) {
    this.#log = log;
    this.#segments = segments;
    this.#seed = seed;
    this.#consumers = consumers;
    this.#deliveries = deliveries;
  }

  find({ query: asked, before, limit }: FindRequest): FindAnswer {
    // The index knows ids without their kinds: who asks for one of a kind looks at the messages.
    const query = asked.identity === undefined ? asked : { ...asked, userId: idOf(asked.identity) };
    const end = Math.min(before, this.#segments.end);
    const { messageId, userId, outcome } = query;
    // A user has fewer messages than a state has; a type or an event may well have more.
    if (outcome !== undefined && messageId === undefined && userId === undefined) {
      return this.#byOutcome(outcome, end, limit);
    }
    const isIndexed = [query.messageId, query.userId, query.type, query.event].some(
      (key) => key !== undefined,
    );
    return isIndexed ? this.#byIndex(query, end, limit) : this.#byReading(query, end);
  }

  /** Segments that may hold what is asked for, from the newest down. */
  *#segmentsBefore(before: number, query: MessageQuery): Generator<OpenSegment | SealedSegment> {
    const { sealed, sealing, open } = this.#segments;
    const whole = sealed.filter((segment) => segment.state === SEGMENT_STATE.whole);
    for (const segment of [...whole, ...sealing, open].reverse()) {
      if (segment.first >= before || segment.end === segment.first) continue;
      if (query.fromMs !== undefined && segment.maxMs < query.fromMs) continue;
      if (query.toMs !== undefined && segment.minMs >= query.toMs) continue;
      yield segment;
    }
  }

  #byOutcome(outcome: FinalState, before: number, limit: number): FindAnswer {
    const found = this.#deliveries.offsetsIn(outcome, before, Math.min(limit, OFFSETS_AT_ONCE));
    return this.#withRows(found.offsets, found.before);
  }

  #byIndex(query: MessageQuery, before: number, limit: number): FindAnswer {
    const offsets: number[] = [];
    let outcomesLeft = OUTCOMES_AT_ONCE;
    let segmentsLeft = SEGMENTS_AT_ONCE;
    let next: number | undefined;
    const most = Math.min(limit, OFFSETS_AT_ONCE);
    for (const segment of this.#segmentsBefore(before, query)) {
      if (segmentsLeft === 0 || offsets.length >= most) {
        next = segment.end;
        break;
      }
      segmentsLeft -= 1;
      for (const position of this.#positions(segment, query)) {
        const offset = segment.first + position;
        if (offset >= before) continue;
        if (query.outcome === undefined || this.#consumers.isSettledAs(offset, query.outcome)) {
          offsets.push(offset);
        }
        outcomesLeft -= query.outcome === undefined ? 0 : 1;
        if (offsets.length >= most || outcomesLeft === 0) {
          next = offset;
          break;
        }
      }
      if (next !== undefined) break;
    }
    return this.#withRows(offsets, next);
  }

  #withRows(offsets: readonly number[], next: number | undefined): FindAnswer {
    const rows: LogRow[] = [];
    const covered: number[] = [];
    let bytes = 0;
    for (const offset of offsets) {
      const last = rows.at(-1);
      if (last === undefined || offset < last.first) {
        // The answer is cut where it gets long; the offsets from here on are looked for again.
        if (bytes >= ROW_BYTES_AT_ONCE) return { rows, offsets: covered, before: offset + 1 };
        const [row] = this.#log.rowsOf([offset]);
        if (row === undefined) continue;
        rows.push(row);
        bytes += row.body.byteLength;
      }
      covered.push(offset);
    }
    return { rows, offsets: covered, ...(next === undefined ? {} : { before: next }) };
  }

  /** Positions in a segment at which a message may match, descending. */
  #positions(segment: OpenSegment | SealedSegment, query: MessageQuery): number[] {
    const sidecars = this.#segments.sidecars;
    const hashes: KeyHashes = { hi: 0, lo: 0, check: 0 };
    if (query.messageId !== undefined) {
      const found = new Set<number>();
      for (const sourceId of query.sourceId === undefined ? this.#log.sources.values() : [query.sourceId]) {
        const { hi, lo, check } = hashKey(hashPrefix(this.#seed, sourceId), query.messageId, hashes);
        if (!("positionsOfId" in segment) && this.#segments.denies(segment, hi, lo)) continue;
        const positions =
          "positionsOfId" in segment
            ? segment.positionsOfId(hi, lo, check)
            : sidecars.positionsOfId(segment.no, hi, lo, check);
        for (const position of positions) found.add(position);
      }
      return [...found].sort((a, b) => b - a);
    }
    if (query.userId !== undefined) {
      const { hi, lo } = hashKey(hashPrefix(this.#seed, USER_PREFIX), query.userId, hashes);
      return "positionsOfId" in segment
        ? segment.positionsOfUser(hi, lo)
        : sidecars.positionsOfUser(segment.no, hi, lo);
    }
    const { mask, wanted } = classMask(this.#seed, query.type, query.event);
    const classes = "positionsOfId" in segment ? segment.classes : sidecars.classes(segment.no);
    const positions: number[] = [];
    for (let position = classes.length - 1; position >= 0; position--) {
      const found = classes[position] ?? 0;
      if (found !== 0 && (found & mask) === wanted) positions.push(position);
    }
    return positions;
  }

  #byReading(query: MessageQuery, before: number): FindAnswer {
    for (const segment of this.#segmentsBefore(before, query)) {
      const rows = this.#log.rowsBefore(Math.min(before, segment.end), ROW_BYTES_AT_ONCE);
      const oldest = rows.at(-1);
      if (oldest === undefined) continue;
      return oldest.first <= this.#segments.start ? { rows } : { rows, before: oldest.first };
    }
    return { rows: [] };
  }
}
