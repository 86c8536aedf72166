import type { DatabaseSync } from "node:sqlite";
import type { StoredMessage } from "../../../message/batch.js";
import { decodeBatch } from "../../../message/decode-batch.js";
import { KEY, KeyHasher } from "../../calls/append-request.js";
import { hashKey, type KeyHashes } from "../../calls/key-hash.js";
import { checkRow, decodeRow, type LogRow } from "../../calls/log-row.js";
import { endOf } from "../../log/log.js";

/** The contents of a sound row, in the form that the index stores. */
export interface IndexedRow {
  readonly first: number;
  readonly end: number;
  readonly bytes: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** `KEY.size` words for each message; `KEY.index` is 0. */
  readonly keys: Uint32Array;
  readonly offsets: readonly number[];
}

/** The offset after a row's last message; undefined if the row is damaged. */
export function endOfSound(row: LogRow): number | undefined {
  try {
    checkRow(row);
    return endOf(decodeRow(row));
  } catch {
    return undefined;
  }
}

/** Computes the keys of messages as `hashBatch` did when they arrived. */
export class RowIndexer {
  readonly #hasher: KeyHasher;
  readonly #names: ReadonlyMap<number, string>;

  constructor(seed: number, names: ReadonlyMap<number, string>) {
    this.#hasher = new KeyHasher(seed);
    this.#names = names;
  }

  index(row: LogRow): IndexedRow {
    const batches = decodeRow(row);
    const messages = batches.flatMap(({ sourceNo, ...batch }) =>
      decodeBatch({ ...batch, sourceId: this.#names.get(sourceNo) ?? "" }),
    );
    const keys = new Uint32Array(messages.length * KEY.size);
    for (const [i, message] of messages.entries()) this.#writeKey(message, keys, i * KEY.size);
    const times = batches.map(({ receivedAtMs }) => receivedAtMs);
    return {
      first: row.first,
      end: endOf(batches),
      bytes: row.body.byteLength,
      minMs: Math.min(...times),
      maxMs: Math.max(...times),
      keys,
      offsets: messages.map(({ offset }) => offset),
    };
  }

  #writeKey({ sourceId, messageId, message }: StoredMessage, keys: Uint32Array, at: number): void {
    const hashes: KeyHashes = { hi: 0, lo: 0, check: 0 };
    hashKey(this.#hasher.prefixOf(sourceId), messageId, hashes);
    keys[at + KEY.idHi] = hashes.hi;
    keys[at + KEY.idLo] = hashes.lo;
    keys[at + KEY.idCheck] = hashes.check;
    // Delete messages are not indexed under the user: a purge must not remove them before they are delivered.
    const user = message.type === "delete" ? "" : ((message.userId || message.anonymousId) ?? "");
    hashKey(this.#hasher.users, String(user), hashes);
    keys[at + KEY.userHi] = hashes.hi;
    keys[at + KEY.userLo] = hashes.lo;
    // Messages of a suppressed user are stored without their event.
    const event = message.type === "track" && message.event !== undefined ? String(message.event) : undefined;
    keys[at + KEY.class] = this.#hasher.classes.classOf(String(message.type), event);
  }
}

export function* logRows(database: DatabaseSync, from = 0, to = Number.MAX_SAFE_INTEGER): Generator<LogRow> {
  const rows = database
    .prepare("SELECT first, meta, body FROM log_rows WHERE first >= ? AND first < ? ORDER BY first")
    .iterate(from, to);
  for (const row of rows) yield row as unknown as LogRow;
}
