import { type DatabaseFile, isTreePage, PAGE } from "./database-file.js";

export type Value = null | number | string | Uint8Array;

/** A row of a table, or an entry of an index (without a rowid). */
export interface Cell {
  readonly rowid: number | undefined;
  readonly values: readonly Value[];
}

export interface Cells {
  readonly cells: readonly Cell[];
  /** How many cells could not be read. */
  readonly unreadable: number;
  /** Page numbers. */
  readonly children: readonly number[];
}

/** The store writes no longer rows. */
const MOST_OVERFLOW_BYTES = 256 * 1024 * 1024;

/** The cells of a b-tree page; undefined if its header is not that of one. */
export function readCells(file: DatabaseFile, no: number): Cells | undefined {
  const whole = file.page(no);
  // On the first page, the file's header comes first.
  const headerAt = no === 1 ? 100 : 0;
  const header = whole.subarray(headerAt);
  if (!isTreePage(header, file.pageBytes)) return undefined;
  const view = new DataView(whole.buffer);
  const type = header[0];
  const isInterior = type === PAGE.tableInterior || type === PAGE.indexInterior;
  const pointersAt = headerAt + (isInterior ? 12 : 8);
  const cells: Cell[] = [];
  const children: number[] = [];
  let unreadable = 0;
  const count = view.getUint16(headerAt + 3);
  for (let i = 0; i < count && pointersAt + 2 * i + 2 <= whole.length; i++) {
    const at = view.getUint16(pointersAt + 2 * i);
    try {
      if (isInterior) children.push(view.getUint32(at));
      if (type === PAGE.tableInterior) continue;
      cells.push(readCell(file, whole, isInterior ? at + 4 : at, type === PAGE.tableLeaf));
    } catch {
      unreadable += 1;
    }
  }
  if (isInterior) children.push(view.getUint32(headerAt + 8));
  return { cells, unreadable, children };
}

function readCell(file: DatabaseFile, page: Uint8Array, at: number, isTable: boolean): Cell {
  const reader = new Reader(page, at);
  const length = reader.varint();
  const rowid = isTable ? reader.varint() : undefined;
  const payload = readPayload(file, page, reader.at, length, isTable);
  return { rowid, values: readRecord(payload) };
}

/** See "B-tree Cell Format": bytes that do not fit on the page are in a chain of overflow pages. */
function readPayload(
  file: DatabaseFile,
  page: Uint8Array,
  at: number,
  length: number,
  isTable: boolean,
): Uint8Array {
  const usable = file.pageBytes;
  if (length > MOST_OVERFLOW_BYTES || length > file.pageCount * usable) throw new RangeError("too long");
  const mostLocal = isTable ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
  const leastLocal = Math.floor(((usable - 12) * 32) / 255) - 23;
  let local = length;
  if (length > mostLocal) {
    const rest = leastLocal + ((length - leastLocal) % (usable - 4));
    local = rest <= mostLocal ? rest : leastLocal;
  }
  if (at + local > page.length) throw new RangeError("beyond the page");
  const payload = new Uint8Array(length);
  payload.set(page.subarray(at, at + local));
  if (local === length) return payload;
  let next = new DataView(page.buffer).getUint32(at + local);
  for (let filled = local; filled < length; ) {
    if (next < 3 || next > file.pageCount) throw new RangeError("the chain is broken");
    const overflow = file.page(next);
    const part = overflow.subarray(4, 4 + Math.min(usable - 4, length - filled));
    payload.set(part, filled);
    filled += part.length;
    next = new DataView(overflow.buffer).getUint32(0);
  }
  return payload;
}

const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8];

function readRecord(payload: Uint8Array): Value[] {
  const header = new Reader(payload, 0);
  const headerBytes = header.varint();
  if (headerBytes < 1 || headerBytes > payload.length) throw new RangeError("no record");
  const body = new Reader(payload, headerBytes);
  const values: Value[] = [];
  while (header.at < headerBytes) values.push(body.value(header.varint()));
  if (header.at !== headerBytes || body.at !== payload.length) throw new RangeError("no record");
  return values;
}

class Reader {
  at: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  #byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw new RangeError("beyond the end");
    return byte;
  }

  /** SQLite's variable-length integer: high bits first, all eight bits of the ninth byte. */
  varint(): number {
    let value = 0n;
    for (let i = 0; i < 8; i++) {
      const byte = this.#byte();
      value = (value << 7n) | BigInt(byte & 0x7f);
      if (byte < 0x80) return Number(value);
    }
    return Number(BigInt.asIntN(64, (value << 8n) | BigInt(this.#byte())));
  }

  #take(length: number): Uint8Array {
    const taken = this.#bytes.slice(this.at, this.at + length);
    if (taken.length < length) throw new RangeError("beyond the end");
    this.at += length;
    return taken;
  }

  value(serialType: number): Value {
    const integerBytes = INTEGER_BYTES[serialType];
    if (serialType === 0) return null;
    if (integerBytes !== undefined) {
      let value = 0n;
      for (const byte of this.#take(integerBytes)) value = (value << 8n) | BigInt(byte);
      return Number(BigInt.asIntN(8 * integerBytes, value));
    }
    if (serialType === 8 || serialType === 9) return serialType - 8;
    if (serialType === 7) return new DataView(this.#take(8).buffer).getFloat64(0);
    if (serialType < 12) throw new RangeError("no such type");
    const bytes = this.#take(Math.floor((serialType - 12) / 2));
    return serialType % 2 === 0
      ? bytes
      : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  }
}
