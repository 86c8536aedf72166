import { fstatSync, readSync } from "node:fs";
import { PAGE_BYTES } from "../../database/database.js";

const MAGIC = "SQLite format 3\0";
const PTRMAP_ENTRY_BYTES = 5;
const PTRMAP = { root: 1, free: 2, btree: 5 } as const;
/** First byte of a b-tree page. */
export const PAGE = { indexInterior: 2, tableInterior: 5, indexLeaf: 10, tableLeaf: 13 } as const;
/** No tree is this deep. A longer path to the root is a loop. */
const MOST_LEVELS = 20;

/**
 * The pages of `sluice.db`, read without SQLite, which refuses the whole file if one inner page is damaged. See
 * https://sqlite.org/fileformat2.html. The file uses auto-vacuum.
 */
export class DatabaseFile {
  readonly pageBytes = PAGE_BYTES;
  readonly pageCount: number;
  readonly #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    const { size } = fstatSync(descriptor);
    // The last page may be cut short.
    this.pageCount = Math.ceil(size / this.pageBytes);
  }

  /** `no` counts from 1. Bytes beyond the end of the file are zero. */
  page(no: number): Uint8Array {
    const page = new Uint8Array(this.pageBytes);
    readSync(this.#descriptor, page, 0, page.length, (no - 1) * this.pageBytes);
    return page;
  }

  /** The schema version that `openDatabase` wrote, or 0 if the header is lost. */
  get layout(): number {
    const page = this.page(1);
    return hasMagic(page) ? new DataView(page.buffer).getUint32(60) : 0;
  }

  isPointerMap(no: number): boolean {
    return no >= 2 && (no - 2) % this.#pagesAMap === 0;
  }

  /** How many pages one pointer map page describes, including itself. */
  get #pagesAMap(): number {
    return Math.floor(this.pageBytes / PTRMAP_ENTRY_BYTES) + 1;
  }

  #entry(no: number): { readonly type: number; readonly parent: number } {
    const map = no - ((no - 2) % this.#pagesAMap);
    const at = (no - map - 1) * PTRMAP_ENTRY_BYTES;
    const bytes = new Uint8Array(PTRMAP_ENTRY_BYTES);
    readSync(this.#descriptor, bytes, 0, bytes.length, (map - 1) * this.pageBytes + at);
    return { type: bytes[0] ?? 0, parent: new DataView(bytes.buffer).getUint32(1) };
  }

  isFree(no: number): boolean {
    return no > 2 && !this.isPointerMap(no) && this.#entry(no).type === PTRMAP.free;
  }

  /** The root of a b-tree page's tree, according to the pointer map; undefined if the map does not show it. */
  rootOf(no: number): number | undefined {
    let page = no;
    for (let level = 0; level < MOST_LEVELS && page > 2 && page <= this.pageCount; level++) {
      if (this.isPointerMap(page)) return undefined;
      const { type, parent } = this.#entry(page);
      if (type === PTRMAP.root) return page;
      if (type !== PTRMAP.btree) return undefined;
      page = parent;
    }
    return undefined;
  }
}

function hasMagic(page: Uint8Array): boolean {
  return Buffer.from(page.buffer, page.byteOffset, 16).toString("latin1") === MAGIC;
}

/** Whether a page starts with a valid b-tree header. */
export function isTreePage(page: Uint8Array, pageBytes: number): boolean {
  const view = new DataView(page.buffer, page.byteOffset);
  if (!Object.values<number>(PAGE).includes(page[0] ?? 0)) return false;
  const cells = view.getUint16(3);
  const contentAt = view.getUint16(5) || 65_536;
  return contentAt <= pageBytes && 8 + 2 * cells <= contentAt;
}
