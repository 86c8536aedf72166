import type { Batch } from "../message/batch.js";

/**
 * How long a batch may be in flight before it counts as stranded, in milliseconds. Cloudflare ends the work of a request 30 s after its
 * response, and nothing tells the client. A batch that is merely slow is then sent twice: the collector recognizes its ids.
 */
export const STRANDED_AFTER_MS = 60_000;

/** The batches that are being sent. */
export class InFlight {
  /** Batch → the monotonic reading at which it was sent. */
  readonly #sentAtMs = new Map<Batch, number>();

  get size(): number {
    return this.#sentAtMs.size;
  }

  add(batch: Batch, nowMs: number): void {
    this.#sentAtMs.set(batch, nowMs);
  }

  /** Returns false if the batch was taken back meanwhile. */
  remove(batch: Batch): boolean {
    return this.#sentAtMs.delete(batch);
  }

  /** Removes and returns the batches that are stranded, oldest message first. */
  takeStranded(nowMs: number): readonly Batch[] {
    const isStranded = (batch: Batch): boolean =>
      nowMs - (this.#sentAtMs.get(batch) ?? nowMs) >= STRANDED_AFTER_MS;
    return this.oldestFirst().filter((batch) => isStranded(batch) && this.remove(batch));
  }

  /** All batches, oldest message first. */
  oldestFirst(): Batch[] {
    return [...this.#sentAtMs.keys()].sort((a, b) => firstSequence(a) - firstSequence(b));
  }
}

function firstSequence(batch: Batch): number {
  return batch[0]?.sequence ?? 0;
}
