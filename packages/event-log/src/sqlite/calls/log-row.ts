import { crc32 } from "node:zlib";
import type { BatchContent, StoredBatch } from "../../message/batch.js";
import { lastMessageIndex, type Offset, offsetAt } from "../../message/batch.js";
import { ByteReader, ByteWriter } from "./bytes.js";

/**
 * One row of the log: consecutive batches of one commit, or of several small ones. `body` is the batches' bodies as they were received,
 * concatenated. `meta` is a checksum over both (CRC-32, little-endian), then everything else about the batches.
 */
export interface LogRow {
  readonly first: number;
  readonly meta: Uint8Array;
  readonly body: Uint8Array;
}

/** The bytes of a row are not the ones that were written. */
export class DamagedRow extends Error {
  override readonly name = "DamagedRow";

  constructor(first: number) {
    super(
      `the log's row at offset ${first} is damaged: its checksum does not match; stop the collector and run \`sluice repair\` to remove the row`,
    );
  }
}

const KINDS = ["identify", "track", "page", "screen", "group", "alias"] as const;
const KIND_BITS = 0b111;
const HAS_IP = 1 << 3;
const HAS_MADE_IDS = 1 << 4;
const HAS_ONLY_DESTINATIONS = 1 << 5;
const HAS_SKIPPED = 1 << 6;
export const CHECKSUM_BYTES = 4;

/** Writes a batch's optional fields to `extras`, in the order of their flags. Returns the flags. */
export function writeExtras(
  batch: Pick<BatchContent, "kind" | "ip" | "madeIds" | "onlyDestinations">,
  extras: ByteWriter,
): number {
  let flags = batch.kind === undefined ? 0 : KINDS.indexOf(batch.kind) + 1;
  if (batch.ip !== undefined) {
    flags |= HAS_IP;
    extras.text(batch.ip);
  }
  if (batch.madeIds.length > 0) {
    flags |= HAS_MADE_IDS;
    extras.varint(batch.madeIds.length);
    for (const [index, messageId] of batch.madeIds) {
      extras.varint(index);
      extras.text(messageId);
    }
  }
  if (batch.onlyDestinations !== undefined) {
    flags |= HAS_ONLY_DESTINATIONS;
    extras.varint(batch.onlyDestinations.length);
    for (const id of batch.onlyDestinations) extras.text(id);
  }
  return flags;
}

export interface BatchMeta {
  readonly sourceNo: number;
  readonly receivedAtMs: number;
  readonly flags: number;
  readonly itemCount: number;
  readonly bodyBytes: number;
  /** Ascending. */
  readonly skipped: ArrayLike<number>;
  readonly extras: Uint8Array;
}

/** Writes the meta of one row, batch by batch. */
export class MetaWriter {
  readonly #writer = new ByteWriter(4096);
  #lastReceivedAtMs = 0;

  constructor() {
    this.clear();
  }

  clear(): void {
    this.#writer.clear();
    this.#writer.raw(new Uint8Array(CHECKSUM_BYTES));
    this.#lastReceivedAtMs = 0;
  }

  add(batch: BatchMeta): void {
    const writer = this.#writer;
    writer.byte(batch.flags | (batch.skipped.length > 0 ? HAS_SKIPPED : 0));
    writer.varint(batch.sourceNo);
    writer.signed(batch.receivedAtMs - this.#lastReceivedAtMs);
    this.#lastReceivedAtMs = batch.receivedAtMs;
    writer.varint(batch.itemCount);
    writer.varint(batch.bodyBytes);
    if (batch.skipped.length > 0) {
      writer.varint(batch.skipped.length);
      let last = 0;
      for (let i = 0; i < batch.skipped.length; i++) {
        const index = batch.skipped[i] ?? 0;
        writer.varint(index - last);
        last = index;
      }
    }
    writer.raw(batch.extras);
  }

  /** The row's meta with its checksum. Valid until the next call. */
  seal(body: Uint8Array): Uint8Array {
    const meta = this.#writer.view();
    writeChecksum(meta, body);
    return meta;
  }
}

/** A CRC-32 over the body, then over the meta without its checksum. */
export function checksumOf(meta: Uint8Array, body: Uint8Array): number {
  return crc32(meta.subarray(CHECKSUM_BYTES), crc32(body));
}

export function readChecksum(meta: Uint8Array): number {
  return new DataView(meta.buffer, meta.byteOffset).getUint32(0, true);
}

function writeChecksum(meta: Uint8Array, body: Uint8Array): void {
  new DataView(meta.buffer, meta.byteOffset).setUint32(0, checksumOf(meta, body), true);
}

/** The new meta of a stored row that was changed. */
export function metaOf(batches: readonly RowBatch[], body: Uint8Array): Uint8Array {
  const writer = new MetaWriter();
  for (const batch of batches) {
    const extras = new ByteWriter(64);
    const flags = writeExtras(batch, extras);
    writer.add({ ...batch, flags, bodyBytes: batch.body.byteLength, extras: extras.view() });
  }
  return Uint8Array.from(writer.seal(body));
}

/** Throws `DamagedRow` if the row's checksum does not match. */
export function checkRow(row: LogRow): void {
  const { meta, body } = row;
  if (meta.length < CHECKSUM_BYTES) throw new DamagedRow(row.first);
  if (checksumOf(meta, body) !== readChecksum(meta)) throw new DamagedRow(row.first);
}

/** A batch of a row. Its body is a view of the row's body. */
export interface RowBatch extends Omit<StoredBatch, "sourceId"> {
  readonly sourceNo: number;
}

/** Throws a `RangeError` if the meta ends too early. */
export function decodeRow(row: LogRow): RowBatch[] {
  const reader = new ByteReader(row.meta, CHECKSUM_BYTES);
  const batches: RowBatch[] = [];
  let first = row.first as Offset;
  let receivedAtMs = 0;
  let bodyAt = 0;
  while (!reader.done) {
    const flags = reader.byte();
    const sourceNo = reader.varint();
    receivedAtMs += reader.signed();
    const itemCount = reader.varint();
    const bodyBytes = reader.varint();
    const skipped = flags & HAS_SKIPPED ? readSkipped(reader) : [];
    const extras = readExtras(flags, reader);
    batches.push({
      first,
      sourceNo,
      receivedAtMs,
      body: row.body.subarray(bodyAt, bodyAt + bodyBytes),
      itemCount,
      skipped,
      ...extras,
    });
    bodyAt += bodyBytes;
    first = offsetAt(first, lastMessageIndex({ itemCount, skipped }) + 1);
  }
  return batches;
}

function readSkipped(reader: ByteReader): number[] {
  const skipped: number[] = [];
  let index = 0;
  for (let left = reader.varint(); left > 0; left--) {
    index += reader.varint();
    skipped.push(index);
  }
  return skipped;
}

/** Reads what `writeExtras` wrote. */
function readExtras(
  flags: number,
  reader: ByteReader,
): Pick<RowBatch, "kind" | "ip" | "madeIds" | "onlyDestinations"> {
  const kind = KINDS[(flags & KIND_BITS) - 1];
  const ip = flags & HAS_IP ? reader.text() : undefined;
  const madeIds: [number, string][] = [];
  if (flags & HAS_MADE_IDS) {
    for (let left = reader.varint(); left > 0; left--) madeIds.push([reader.varint(), reader.text()]);
  }
  const onlyDestinations =
    flags & HAS_ONLY_DESTINATIONS ? Array.from({ length: reader.varint() }, () => reader.text()) : undefined;
  return {
    madeIds,
    ...(kind === undefined ? {} : { kind }),
    ...(ip === undefined ? {} : { ip }),
    ...(onlyDestinations === undefined ? {} : { onlyDestinations }),
  };
}
