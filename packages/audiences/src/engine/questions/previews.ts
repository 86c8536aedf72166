import { BEFORE_FIRST, type Offset, StorageUnavailable, type StoredBatch } from "@sluice/event-log";
import { specKey } from "../../conditions/aggregate.js";
import { isRead } from "../../definitions/definition-state.js";
import type { UnitRunner } from "../state/unit-runner.js";
import { Preview, type Previewed, type PreviewQuestion } from "./preview.js";

/** The previews under way, by number. Each method is called within the runner's queue. */
export class Previews {
  readonly #units: UnitRunner;
  readonly #previews = new Map<number, Preview>();
  #nextPreview = 1;

  constructor(units: UnitRunner) {
    this.#units = units;
  }

  async begin(
    question: PreviewQuestion,
    nowMs: number,
  ): Promise<{ readonly preview: number; readonly needsHistory: boolean; readonly upTo: Offset }> {
    const { definitions, aggregates, cursor: upTo } = await this.#units.load();
    const counted = new Map<string, number>();
    for (const [number, progress] of aggregates)
      if (isRead(progress)) counted.set(specKey(progress.aspect), number);
    const { store } = this.#units;
    const one = new Preview(question, { store, definitions, counted, upTo, nowMs });
    const preview = this.#nextPreview++;
    this.#previews.set(preview, one);
    return { preview, needsHistory: one.needsHistory && upTo > BEFORE_FIRST, upTo };
  }

  async history(preview: number, batches: readonly StoredBatch[]): Promise<Offset> {
    return this.#find(preview).history(batches, (await this.#units.load()).setAside);
  }

  /** The result, once all profiles are evaluated. */
  async scan(preview: number): Promise<Previewed | undefined> {
    const one = this.#find(preview);
    return (await one.scan()) ? one.result() : undefined;
  }

  end(preview: number): void {
    this.#previews.delete(preview);
  }

  /** Throws when the preview is not known: the engine in which it began is gone. */
  #find(preview: number): Preview {
    const one = this.#previews.get(preview);
    if (one === undefined) throw new StorageUnavailable("the preview was interrupted; ask again");
    return one;
  }
}
