import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ByteReader, ByteWriter } from "../bytes.js";

/** Texts kept by number, at most; further ones are written out where they occur. */
const MOST_STRINGS = 10_000;
/** What an endpoint answers may differ each time: it must not use up the numbers of what recurs. */
const MOST_STRINGS_OF_ANSWERS = 8_000;
const LONGEST_STRING = 256;
const WRITTEN_OUT = 0;

/** Texts that recur in outcomes and attempts, stored once and referred to by number. */
export class Strings {
  readonly #database: DatabaseSync;
  readonly #put: StatementSync;
  readonly #numbers = new Map<string, number>();
  readonly #texts = new Map<number, string>();
  #next = 1;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#put = database.prepare("INSERT INTO strings (no, text) VALUES (?, ?)");
    for (const { no, text } of database.prepare("SELECT no, text FROM strings").all() as unknown as {
      no: number;
      text: string;
    }[]) {
      this.#numbers.set(text, no);
      this.#texts.set(no, text);
      this.#next = Math.max(this.#next, no + 1);
    }
  }

  /** Writes a reference to a text; within a transaction. */
  write(text: string, kind: "own" | "answer", to: ByteWriter): void {
    let no = this.#numbers.get(text);
    if (no === undefined && text.length <= LONGEST_STRING) {
      const most = kind === "own" ? MOST_STRINGS : MOST_STRINGS_OF_ANSWERS;
      if (this.#next <= most) no = this.#add(text);
    }
    if (no !== undefined) {
      to.varint(no);
      return;
    }
    to.varint(WRITTEN_OUT);
    to.text(text);
  }

  #add(text: string): number {
    const no = this.#next;
    this.#next += 1;
    this.#put.run(no, text);
    this.#numbers.set(text, no);
    this.#texts.set(no, text);
    return no;
  }

  /** Puts another text in the place of one, wherever it is referred to; within a transaction. */
  replace(text: string, by: string): void {
    const no = this.#numbers.get(text);
    if (no === undefined) return;
    this.#numbers.delete(text);
    this.#texts.set(no, by);
    this.#database.prepare("UPDATE strings SET text = ? WHERE no = ?").run(by, no);
  }

  read(from: ByteReader): string {
    const no = from.varint();
    return no === WRITTEN_OUT ? from.text() : (this.#texts.get(no) ?? "");
  }
}
