import type { Store } from "@sluice/event-log";
import { type Clock, type SerialQueue, serialQueue } from "@sluice/resilience";
import type { ControlSources } from "./control-sources.js";
import { type ControlCopy, syncDocuments } from "./sync-documents.js";

export interface FollowedDocumentsParts {
  readonly clock: Clock;
  /** This process's copy of the control partition. */
  readonly control: ControlCopy;
  readonly sources: ControlSources;
}

/** How long a change may wait until this process has it. */
const CAUGHT_UP_MS = 4_000;

/** Brings changes of the control partition's documents to the partitions that this process owns. */
export class FollowedDocuments {
  readonly #parts: FollowedDocumentsParts;
  readonly #owned = new Map<number, { readonly store: Store; readonly inOrder: SerialQueue }>();

  constructor(parts: FollowedDocumentsParts) {
    this.#parts = parts;
  }

  /** Brings a partition that this process begins to own up to date, and follows changes from then on. Returns a function that ends it. */
  async follow(partition: number, store: Store, signal: AbortSignal): Promise<() => void> {
    const owned = { store, inOrder: serialQueue() };
    // A change that arrives meanwhile waits for this.
    this.#owned.set(partition, owned);
    const end = (): void => {
      if (this.#owned.get(partition) === owned) this.#owned.delete(partition);
    };
    try {
      const { control } = this.#parts;
      await control.caughtUp(signal);
      const { applied } = control.status();
      await owned.inOrder(() => syncDocuments(control, store, applied));
      return end;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Resolves when what the control partition's log contains now is in force in this process. */
  async changed(kinds: readonly string[] | undefined): Promise<void> {
    const { clock, control, sources } = this.#parts;
    const tooLate = new AbortController();
    const cancel = clock.after(CAUGHT_UP_MS, () => tooLate.abort());
    try {
      await control.caughtUp(tooLate.signal);
    } finally {
      cancel();
    }
    // A change may have to wait for its turn, and the copy may be replaced meanwhile.
    const { applied } = control.status();
    await sources.refresh();
    await Promise.all(
      [...this.#owned.values()].map(({ store, inOrder }) =>
        inOrder(() => syncDocuments(control, store, applied, kinds)),
      ),
    );
  }
}
