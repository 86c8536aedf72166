import { idOf } from "../../message/identity.js";
import type { FinalState } from "../../ports/consumers.js";
import type { MessageQuery } from "../../ports/event-log.js";
import { classMask, emptyHashes, hashKey, hashPrefix, USER_PREFIX } from "../calls/key-hash.js";
import type { LogRow } from "../calls/log-row.js";
import type { FindAnswer, FindRequest } from "../calls/operations.js";
import type { ConsumerTables } from "../consumers/consumer-tables.js";
import { OpenSegment } from "../index/open-segment.js";
import { SEGMENT_STATE, type SealedSegment, type Segments } from "../index/segments.js";
import type { Log } from "../log/log.js";
import type { DeliveryList } from "./delivery-list.js";

/** Limits of one call. The next call continues a longer search, so other calls can run between. */
const ROW_BYTES_AT_ONCE = 1024 * 1024;
const SEGMENTS_AT_ONCE = 16;
const OFFSETS_AT_ONCE = 256;
const OUTCOMES_AT_ONCE = 512;

/** A search by index, across the segments. */
interface IndexSearch {
  readonly query: MessageQuery;
  readonly before: number;
  readonly most: number;
  /** Matches so far, descending. */
  readonly offsets: number[];
  /** How many outcomes the call may still look up. */
  outcomesLeft: number;
}

/** Finds messages in descending order. Uses the segments' indexes if the query has an id, a user, a type, an event or an outcome. */
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
    // The index has ids without their kinds, so the caller compares the messages with the identity.
    const query = asked.identity === undefined ? asked : { ...asked, userId: idOf(asked.identity) };
    const end = Math.min(before, this.#segments.end);
    const { messageId, userId, outcome } = query;
    // A user has fewer messages than an outcome has. A type or an event often has more.
    if (outcome !== undefined && messageId === undefined && userId === undefined) {
      return this.#byOutcome(outcome, end, limit);
    }
    const isIndexed = [query.messageId, query.userId, query.type, query.event].some(
      (key) => key !== undefined,
    );
    return isIndexed ? this.#byIndex(query, end, limit) : this.#byReading(query, end);
  }

  /** Segments that may have matches, in descending order. */
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
    const search: IndexSearch = {
      query,
      before,
      most: Math.min(limit, OFFSETS_AT_ONCE),
      offsets: [],
      outcomesLeft: OUTCOMES_AT_ONCE,
    };
    let segmentsLeft = SEGMENTS_AT_ONCE;
    for (const segment of this.#segmentsBefore(before, query)) {
      if (segmentsLeft === 0 || search.offsets.length >= search.most)
        return this.#withRows(search.offsets, segment.end);
      segmentsLeft -= 1;
      const resumeBefore = this.#searchSegment(segment, search);
      if (resumeBefore !== undefined) return this.#withRows(search.offsets, resumeBefore);
    }
    return this.#withRows(search.offsets, undefined);
  }

  /** Adds the segment's matches to the search. Returns where the search continues if it reaches a limit. */
  #searchSegment(segment: OpenSegment | SealedSegment, search: IndexSearch): number | undefined {
    const { query, before, most, offsets } = search;
    for (const position of this.#positions(segment, query)) {
      const offset = segment.first + position;
      if (offset >= before) continue;
      if (query.outcome === undefined) offsets.push(offset);
      else {
        if (this.#consumers.isSettledAs(offset, query.outcome)) offsets.push(offset);
        search.outcomesLeft -= 1;
      }
      if (offsets.length >= most || search.outcomesLeft === 0) return offset;
    }
    return undefined;
  }

  #withRows(offsets: readonly number[], next: number | undefined): FindAnswer {
    const rows: LogRow[] = [];
    const covered: number[] = [];
    let bytes = 0;
    for (const offset of offsets) {
      const last = rows.at(-1);
      if (last === undefined || offset < last.first) {
        // A long answer ends here; the next call finds the other offsets again.
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
    if (query.messageId !== undefined) return this.#positionsOfId(segment, query.messageId, query.sourceId);
    if (query.userId !== undefined) return this.#positionsOfUser(segment, query.userId);
    return this.#positionsOfClass(segment, query);
  }

  /** Ids are unique in a source, so without a source every source is searched. */
  #positionsOfId(
    segment: OpenSegment | SealedSegment,
    messageId: string,
    sourceId: string | undefined,
  ): number[] {
    const found = new Set<number>();
    for (const id of sourceId === undefined ? this.#log.sources.values() : [sourceId]) {
      const { hi, lo, check } = hashKey(hashPrefix(this.#seed, id), messageId, emptyHashes());
      if (!isOpen(segment) && this.#segments.denies(segment, hi, lo)) continue;
      const positions = isOpen(segment)
        ? segment.positionsOfId(hi, lo, check)
        : this.#segments.sidecars.positionsOfId(segment.no, hi, lo, check);
      for (const position of positions) found.add(position);
    }
    return [...found].sort((a, b) => b - a);
  }

  #positionsOfUser(segment: OpenSegment | SealedSegment, userId: string): number[] {
    const { hi, lo } = hashKey(hashPrefix(this.#seed, USER_PREFIX), userId, emptyHashes());
    return isOpen(segment)
      ? segment.positionsOfUser(hi, lo)
      : this.#segments.sidecars.positionsOfUser(segment.no, hi, lo);
  }

  #positionsOfClass(segment: OpenSegment | SealedSegment, { type, event }: MessageQuery): number[] {
    const { mask, wanted } = classMask(this.#seed, type, event);
    const classes = isOpen(segment) ? segment.classes : this.#segments.sidecars.classes(segment.no);
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

/** Open segments and those being sealed are in memory; a sealed one is found by its sidecars. */
function isOpen(segment: OpenSegment | SealedSegment): segment is OpenSegment {
  return segment instanceof OpenSegment;
}
