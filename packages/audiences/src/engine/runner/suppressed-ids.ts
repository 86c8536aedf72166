import {
  type Store,
  SUPPRESSION,
  type SuppressedId,
  type SuppressionDocument,
  suppressedId,
} from "@sluice/event-log";
import type { Engine } from "./audiences.js";

/** Suppressed ids that changed and that the engine does not know yet. */
export class SuppressedIdChanges {
  readonly #changed = new Map<string, SuppressedId>();
  readonly #digestKey: Uint8Array;

  constructor(digestKey: Uint8Array) {
    this.#digestKey = digestKey;
  }

  async loadAll(config: Store["config"]): Promise<void> {
    for (const { id, value } of await config.list<SuppressionDocument>(SUPPRESSION)) {
      const one = suppressedId(id, value);
      // What changed while the list was read is newer.
      if (!this.#changed.has(one.digest)) this.#changed.set(one.digest, one);
    }
  }

  add(id: string, document: SuppressionDocument | undefined): void {
    const one = suppressedId(id, document);
    this.#changed.set(one.digest, one);
  }

  /** Tells the engine all changes since the last call. */
  tell(engine: Engine): void {
    if (this.#changed.size === 0) return;
    engine.suppress({ key: this.#digestKey, ids: [...this.#changed.values()] });
    this.#changed.clear();
  }
}
