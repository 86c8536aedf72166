import type { Offset } from "../../message/batch.js";
import type { ReadAnswer } from "../calls/operations.js";

/** How much one read returns. */
export interface ReadLimits {
  readonly messages: number;
  readonly bytes: number;
}

/** A read of the rows after an offset. */
export interface ReadRequest extends ReadLimits {
  readonly after: Offset;
}

/**
 * Who reads to the end of the log reads on as soon as something is appended. So that read goes to the store's thread before, and waits
 * there: together with the next append of this thread, with which it is answered, or at once if other threads append. What nobody takes
 * in the turn of the answer is dropped, because messages may be purged later.
 */
export class ReadAhead {
  /** By limits: readers that are at the end. */
  readonly #waiting = new Map<string, ReadRequest>();
  readonly #begun = new Map<string, { readonly after: Offset; readonly answer: Promise<ReadAnswer> }>();

  /** A reader found nothing. */
  atEnd(request: ReadRequest): void {
    this.#waiting.set(keyOf(request), request);
  }

  /** Messages may be appended after `head`: asks for what readers will ask for. `ask` is answered when there are some. */
  begin(head: Offset, ask: (request: ReadRequest) => Promise<ReadAnswer>): void {
    for (const [key, request] of this.#waiting) {
      if (request.after !== head || this.#begun.get(key)?.after === head) continue;
      const begun = { after: head, answer: ask(request) };
      this.#begun.set(key, begun);
      const drop = (): void => {
        if (this.#begun.get(key) === begun) this.#begun.delete(key);
      };
      const dropLater = (): unknown => setImmediate(drop);
      begun.answer.then(dropLater, dropLater);
    }
    this.#waiting.clear();
  }

  /** The answer to a read that has begun already. */
  take(request: ReadRequest): Promise<ReadAnswer> | undefined {
    const begun = this.#begun.get(keyOf(request));
    return begun?.after === request.after ? begun.answer : undefined;
  }
}

function keyOf({ messages, bytes }: ReadLimits): string {
  return `${messages} ${bytes}`;
}
