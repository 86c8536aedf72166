import { EngineUnavailable, SnapshotDamaged, type SnapshotRecord } from "../../src/replicated/engine.js";

/** The blobs that all nodes share. */
export class MemorySnapshots {
  readonly #damaged = new Set<string>();
  readonly #uploads = new Set<{ parts: Uint8Array[]; isRemoved: boolean }>();
  readonly #blobs = new Map<string, { readonly record: SnapshotRecord; readonly bytes: Uint8Array }>();

  async put(
    name: string,
    metadata: Readonly<Record<string, string>>,
    parts: AsyncIterable<Uint8Array>,
  ): Promise<SnapshotRecord> {
    const upload = { parts: [] as Uint8Array[], isRemoved: false };
    this.#uploads.add(upload);
    try {
      for await (const part of parts) upload.parts.push(Uint8Array.from(part));
    } finally {
      this.#uploads.delete(upload);
    }
    if (upload.isRemoved)
      throw new EngineUnavailable(`the snapshot ${name} was not stored: its parts were removed`);
    const bytes = Buffer.concat(upload.parts);
    const record = { name, bytes: bytes.byteLength, metadata };
    this.#damaged.delete(name);
    this.#blobs.set(name, { record, bytes });
    return record;
  }

  get(name: string): Uint8Array | undefined {
    return this.#blobs.get(name)?.bytes;
  }

  list(): readonly SnapshotRecord[] {
    return [...this.#blobs.values()].map(({ record }) => record);
  }

  /** Makes the bytes differ from those that were stored. */
  damage(name: string): void {
    this.#damaged.add(name);
  }

  /** Throws if the bytes differ from those that were stored. */
  check(name: string): void {
    if (this.#damaged.has(name))
      throw new SnapshotDamaged(`the snapshot ${name} does not have the bytes that were stored`);
  }

  removeUnfinished(): void {
    for (const upload of this.#uploads) {
      upload.parts = [];
      upload.isRemoved = true;
    }
  }

  remove(name: string): void {
    this.#damaged.delete(name);
    this.#blobs.delete(name);
  }
}
