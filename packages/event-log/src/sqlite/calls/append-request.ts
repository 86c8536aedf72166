import type { BatchContent, NewBatch } from "../../message/batch.js";
import { ByteWriter } from "./bytes.js";
import { ClassCodes, type HashPrefix, hashKey, hashPrefix, type KeyHashes, USER_PREFIX } from "./key-hash.js";
import { writeExtras } from "./log-row.js";

/**
 * Batches for the worker, as numbers and bytes in a few arrays. All arrays are views of one buffer, which is transferred, not copied: every
 * transferred buffer has a cost. `BATCH` and `KEY` name the fields of one record.
 */
export interface AppendRequest {
  /** `BATCH.size` numbers a batch. */
  readonly batches: Float64Array<ArrayBuffer>;
  /** `KEY.size` words a message. */
  readonly keys: Uint32Array<ArrayBuffer>;
  /** The skipped indexes of all batches. */
  readonly skipped: Uint32Array<ArrayBuffer>;
  readonly extras: Uint8Array<ArrayBuffer>;
  readonly bodies: Uint8Array<ArrayBuffer>;
  /** Sources without a number, and what stands for it in `batches`: -1 for the first, -2 for the next one. */
  readonly newSources: readonly (readonly [sourceNo: number, sourceId: string])[];
}

export const BATCH = {
  sourceNo: 0,
  receivedAtMs: 1,
  flags: 2,
  itemCount: 3,
  bodyBytes: 4,
  keyCount: 5,
  skippedCount: 6,
  extrasBytes: 7,
  size: 8,
} as const;

export const KEY = {
  index: 0,
  idHi: 1,
  idLo: 2,
  idCheck: 3,
  userHi: 4,
  userLo: 5,
  class: 6,
  size: 7,
} as const;

/** Numbers for source ids. They never change during the lifetime of a store. */
export interface SourceNumbers {
  /** The source's number. Adds a new source to `newSources`. */
  numberOf(sourceId: string, newSources: [number, string][]): number;
}

/** A batch whose keys are hashed. It holds no text of its messages besides the body. */
export interface HashedBatch {
  readonly content: BatchContent;
  /** `KEY.size` words a message. */
  readonly keys: Uint32Array;
}

/** Hashes the keys of one store's messages. */
export class KeyHasher {
  readonly seed: number;
  readonly #users: HashPrefix;
  readonly #sources = new Map<string, HashPrefix>();
  readonly classes: ClassCodes;

  constructor(seed: number) {
    this.seed = seed;
    this.#users = hashPrefix(seed, USER_PREFIX);
    this.classes = new ClassCodes(seed);
  }

  /** The prefix for hashing the message ids of a source. */
  prefixOf(sourceId: string): HashPrefix {
    const known = this.#sources.get(sourceId);
    if (known !== undefined) return known;
    const prefix = { ...hashPrefix(this.seed, sourceId) };
    this.#sources.set(sourceId, prefix);
    return prefix;
  }

  get users(): HashPrefix {
    return this.#users;
  }
}

/**
 * Hashes a batch's keys. Do it as soon as a batch arrives: the texts of its keys are slices of the request's text, which would otherwise
 * stay in memory until the commit, and be copied by each garbage collection.
 */
export function hashBatch({ keys, ...content }: NewBatch, hasher: KeyHasher): HashedBatch {
  const words = new Uint32Array(keys.length * KEY.size);
  const ids = hasher.prefixOf(content.sourceId);
  // One object for all keys: a new one for each hash would be garbage.
  const hashes: KeyHashes = { hi: 0, lo: 0, check: 0 };
  let at = 0;
  for (const { index, messageId, userId, type, event } of keys) {
    words[at + KEY.index] = index;
    hashKey(ids, messageId, hashes);
    words[at + KEY.idHi] = hashes.hi;
    words[at + KEY.idLo] = hashes.lo;
    words[at + KEY.idCheck] = hashes.check;
    hashKey(hasher.users, userId, hashes);
    words[at + KEY.userHi] = hashes.hi;
    words[at + KEY.userLo] = hashes.lo;
    words[at + KEY.class] = hasher.classes.classOf(type, event);
    at += KEY.size;
  }
  return { content, keys: words };
}

export function encodeAppend(batches: readonly HashedBatch[], sources: SourceNumbers): AppendRequest {
  let keyWords = 0;
  let skippedCount = 0;
  let bodyBytes = 0;
  const written = new ByteWriter(64);
  const flags: number[] = [];
  const extrasEnds: number[] = [];
  for (const { content, keys } of batches) {
    keyWords += keys.length;
    skippedCount += content.skipped.length;
    bodyBytes += content.body.byteLength;
    flags.push(writeExtras(content, written));
    extrasEnds.push(written.length);
  }
  const { records, keys, skipped, bodies, extras } = viewsOf({
    records: batches.length * BATCH.size,
    keys: keyWords,
    skipped: skippedCount,
    bodies: bodyBytes,
    extras: written.length,
  });
  extras.set(written.view());
  const newSources: [number, string][] = [];

  let record = 0;
  let key = 0;
  let skippedAt = 0;
  let bodyAt = 0;
  for (const [i, { content, keys: hashed }] of batches.entries()) {
    records[record + BATCH.sourceNo] = sources.numberOf(content.sourceId, newSources);
    records[record + BATCH.receivedAtMs] = Math.round(content.receivedAtMs);
    records[record + BATCH.flags] = flags[i] ?? 0;
    records[record + BATCH.itemCount] = content.itemCount;
    records[record + BATCH.bodyBytes] = content.body.byteLength;
    records[record + BATCH.keyCount] = hashed.length / KEY.size;
    records[record + BATCH.skippedCount] = content.skipped.length;
    records[record + BATCH.extrasBytes] = (extrasEnds[i] ?? 0) - (extrasEnds[i - 1] ?? 0);
    record += BATCH.size;
    skipped.set(content.skipped, skippedAt);
    skippedAt += content.skipped.length;
    bodies.set(content.body, bodyAt);
    bodyAt += content.body.byteLength;
    keys.set(hashed, key);
    key += hashed.length;
  }
  return { batches: records, keys, skipped, extras, bodies, newSources };
}

/** Arrays of these lengths in one buffer. It is unpooled because it is transferred, and not zeroed because every byte is written. */
function viewsOf(lengths: Readonly<Record<"records" | "keys" | "skipped" | "bodies" | "extras", number>>) {
  const keysAt = lengths.records * Float64Array.BYTES_PER_ELEMENT;
  const skippedAt = keysAt + lengths.keys * Uint32Array.BYTES_PER_ELEMENT;
  const bodiesAt = skippedAt + lengths.skipped * Uint32Array.BYTES_PER_ELEMENT;
  const extrasAt = bodiesAt + lengths.bodies;
  const { buffer } = Buffer.allocUnsafeSlow(extrasAt + lengths.extras);
  return {
    records: new Float64Array(buffer, 0, lengths.records),
    keys: new Uint32Array(buffer, keysAt, lengths.keys),
    skipped: new Uint32Array(buffer, skippedAt, lengths.skipped),
    bodies: new Uint8Array(buffer, bodiesAt, lengths.bodies),
    extras: new Uint8Array(buffer, extrasAt, lengths.extras),
  };
}

/** The buffers to transfer with a request. */
export function buffersOf(request: AppendRequest): ArrayBuffer[] {
  return [request.batches.buffer];
}
