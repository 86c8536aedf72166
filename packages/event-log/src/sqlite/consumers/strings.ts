import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ByteReader, ByteWriter } from "../calls/bytes.js";

/** Maximum number of shared texts. Further texts are written out. Greater numbers have another meaning: see `attempt-codec.ts`. */
export const MOST_STRINGS = 10_000;
const LONGEST_STRING = 256;
export const WRITTEN_OUT = 0;

/**
 * The texts that many messages share: reasons, URLs, addresses, error codes and sets of request headers. They are stored once and referred
 * to by number. They come from settings and from our own code, never from a message or a response, so the deletion of a user does not
 * change them.
 *
 * Older versions stored short responses and error messages here too. If an attempt that refers to such a text is purged, the text is
 * released: new data does not refer to it, and it is deleted unless the attempt of another message refers to it.
 */
export class Strings {
  readonly #put: StatementSync;
  readonly #all: StatementSync;
  readonly #setReleased: StatementSync;
  readonly #delete: StatementSync;
  readonly #numbers = new Map<string, number>();
  readonly #texts = new Map<number, string>();
  readonly #released = new Set<number>();
  #next = 1;

  constructor(database: DatabaseSync) {
    this.#put = database.prepare("INSERT INTO strings (no, text) VALUES (?, ?)");
    this.#all = database.prepare("SELECT no, text, released FROM strings ORDER BY no");
    this.#setReleased = database.prepare("UPDATE strings SET released = ? WHERE no = ?");
    this.#delete = database.prepare("DELETE FROM strings WHERE no = ?");
    this.reload();
  }

  /** Reads the table again. Call after a rollback. */
  reload(): void {
    this.#numbers.clear();
    this.#texts.clear();
    this.#released.clear();
    this.#next = 1;
    for (const row of this.#all.all()) {
      const { no, text, released } = row as unknown as { no: number; text: string; released: number };
      this.#texts.set(no, text);
      if (released === 0) this.#numbers.set(text, no);
      else this.#released.add(no);
      this.#next = Math.max(this.#next, no + 1);
    }
  }

  /** Writes a reference to a text, or the text itself. Within a transaction. */
  write(text: string, to: ByteWriter): void {
    const no = this.#numbers.get(text) ?? this.#add(text);
    if (no !== undefined) {
      to.varint(no);
      return;
    }
    to.varint(WRITTEN_OUT);
    to.text(text);
  }

  #add(text: string): number | undefined {
    if (text.length > LONGEST_STRING || this.#next > MOST_STRINGS) return undefined;
    const no = this.#next;
    this.#put.run(no, text);
    this.#next += 1;
    this.#numbers.set(text, no);
    this.#texts.set(no, text);
    return no;
  }

  /** Calls `onText` with the number of a shared text. */
  read(from: ByteReader, onText?: (no: number) => void): string {
    const no = from.varint();
    if (no === WRITTEN_OUT) return from.text();
    onText?.(no);
    return this.textOf(no);
  }

  /** The text with this number, or "(damaged)" if the table has lost it. */
  textOf(no: number): string {
    return this.#texts.get(no) ?? "(damaged)";
  }

  /** Numbers of released texts that are not yet checked for references. */
  get released(): ReadonlySet<number> {
    return this.#released;
  }

  /** Releases a text: new data does not refer to it. Within a transaction. */
  release(no: number): void {
    const text = this.#texts.get(no);
    if (text === undefined || this.#released.has(no)) return;
    this.#setReleased.run(1, no);
    if (this.#numbers.get(text) === no) this.#numbers.delete(text);
    this.#released.add(no);
  }

  /** Keeps a released text that is still referred to. Within a transaction. */
  keep(no: number): void {
    this.#setReleased.run(0, no);
    this.#released.delete(no);
  }

  /** Deletes a released text that nothing refers to. Within a transaction. */
  delete(no: number): void {
    this.#delete.run(no);
    this.#released.delete(no);
    this.#texts.delete(no);
  }
}
