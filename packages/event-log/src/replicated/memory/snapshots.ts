import { SnapshotDamaged, type SnapshotRecord } from "../engine.js";

/** The blobs that all nodes share. */
export class MemorySnapshots {
  readonly #damaged = new Set<string>();
  readonly #blobs = new Map<string, { readonly record: SnapshotRecord; readonly bytes: Uint8Array }>();

  async put(
    name: string,
    metadata: Readonly<Record<string, string>>,
    parts: AsyncIterable<Uint8Array>,
  ): Promise<SnapshotRecord> {
    const read: Uint8Array[] = [];
    for await (const part of parts) read.push(Uint8Array.from(part));
    const bytes = Buffer.concat(read);
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

  remove(name: string): void {
    this.#damaged.delete(name);
    this.#blobs.delete(name);
  }
}
