import {
  StorageUnavailable,
  type Store,
  SUPPRESSION,
  type SuppressedId,
  type SuppressionDocument,
  suppressedId,
} from "@sluice/event-log";
import { lastOffsetIn, offsetIn } from "../../profiles/partition-offsets.js";
import type { Engine } from "./audiences.js";
import type { FollowedPartition } from "./partition-logs.js";

/** Suppressed ids that changed and that the engine does not know yet. Each partition suppresses for itself, in spans of its own log. */
export class SuppressedIdChanges {
  readonly #changed = new Map<string, SuppressedId>();
  readonly #digestKey: Uint8Array;
  /** By partition, then by digest. Only in a cluster of several partitions. */
  readonly #byPartition: Map<number, Map<string, SuppressedId>> | undefined;
  /** `documentChanges` of the partitions when their suppressions were read. */
  readonly #read = new Map<number, string>();

  constructor(digestKey: Uint8Array, followsOthers = false) {
    this.#digestKey = digestKey;
    this.#byPartition = followsOthers ? new Map() : undefined;
  }

  async loadAll(config: Store["config"]): Promise<void> {
    for (const { id, value } of await config.list<SuppressionDocument>(SUPPRESSION)) this.add(id, value);
  }

  add(id: string, document: SuppressionDocument | undefined): void {
    this.#add(0, suppressedId(id, document));
  }

  /** Takes over the suppressions of another partition as its copy contains them, if they may have changed. */
  async follow(followed: FollowedPartition): Promise<void> {
    const { partition, documentChanges } = followed;
    if (this.#read.get(partition) === documentChanges) return;
    const documents = await followed.suppressions();
    // A copy that is being replaced lacks some.
    if (!followed.isReadable()) throw new StorageUnavailable(`partition ${partition} cannot be read now`);
    const known = this.#byPartition?.get(partition);
    const gone = new Set(known?.keys());
    for (const { id, value } of documents) {
      gone.delete(id);
      this.#add(partition, suppressedId(id, value));
    }
    for (const id of gone) this.#add(partition, suppressedId(id, undefined));
    this.#read.set(partition, documentChanges);
  }

  #add(partition: number, one: SuppressedId): void {
    if (this.#byPartition === undefined) {
      this.#changed.set(one.digest, one);
      return;
    }
    const own = this.#byPartition.get(partition) ?? new Map<string, SuppressedId>();
    this.#byPartition.set(partition, own);
    if (JSON.stringify(own.get(one.digest)) === JSON.stringify(one)) return;
    if (one.spans.length === 0) own.delete(one.digest);
    else own.set(one.digest, one);
    const parts = [...this.#byPartition].flatMap(([number, ids]) => {
      const found = ids.get(one.digest);
      return found === undefined ? [] : [{ number, found }];
    });
    this.#changed.set(one.digest, {
      digest: one.digest,
      kind: parts[0]?.found.kind ?? one.kind,
      spans: parts.flatMap(({ number, found }) => found.spans.map((span) => spanIn(number, span))),
    });
  }

  /** Tells the engine all changes since the last call. */
  tell(engine: Engine): void {
    if (this.#changed.size === 0) return;
    engine.suppress({ key: this.#digestKey, ids: [...this.#changed.values()] });
    this.#changed.clear();
  }
}

type SuppressedSpan = SuppressedId["spans"][number];

/** The span with the engine's offsets. One that is open ends with its partition. */
function spanIn(partition: number, { after, upTo }: SuppressedSpan): SuppressedSpan {
  return {
    after: offsetIn(partition, after),
    upTo: upTo === undefined ? lastOffsetIn(partition) : offsetIn(partition, upTo),
  };
}
