import { UnusableBackup } from "./manifest.js";

/** The format of POSIX.1-1988 ("ustar"), as far as backups need it: files with short names. */
const BLOCK_BYTES = 512;
const FIELDS = {
  name: [0, 100],
  mode: [100, 8],
  size: [124, 12],
  modified: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  magic: [257, 8],
} as const;

/** Longer entries are no backup. Manifests of a terabyte have 80 MB. */
const MOST_ENTRY_BYTES = 512 * 1024 * 1024;

export interface TarEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly modifiedMs: number;
  /** Where its contents begin. */
  readonly at: number;
}

/** An entry's header, contents and padding. */
export function tarEntry(name: string, bytes: Uint8Array, modifiedMs: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  const put = (field: keyof typeof FIELDS, text: string): void => {
    header.write(text, FIELDS[field][0], FIELDS[field][1], "latin1");
  };
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;
  put("name", name);
  put("mode", octal(0o600, 7));
  header.write(octal(0, 7), 108, "latin1");
  header.write(octal(0, 7), 116, "latin1");
  put("size", octal(bytes.byteLength, 11));
  put("modified", octal(Math.floor(modifiedMs / 1_000), 11));
  put("type", "0");
  put("magic", "ustar\u000000");
  put("checksum", `${octal(checksumOf(header), 6)} `);
  return Buffer.concat([header, bytes, Buffer.alloc(paddingOf(bytes.byteLength))]);
}

/** What ends an archive. */
export function tarEnd(): Buffer {
  return Buffer.alloc(2 * BLOCK_BYTES);
}

/** The sum of the header's bytes, with spaces for the checksum itself. */
function checksumOf(header: Uint8Array): number {
  const [from, length] = FIELDS.checksum;
  let sum = length * 0x20;
  for (const [index, byte] of header.entries()) if (index < from || index >= from + length) sum += byte;
  return sum;
}

function paddingOf(bytes: number): number {
  return (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;
}

/** The files of an archive as it comes in. Throws `UnusableBackup` if it is cut off, or is no such archive. */
export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const input = new Input(chunks);
  for (;;) {
    const header = await input.take(BLOCK_BYTES);
    if (header.every((byte) => byte === 0)) return;
    const text = (field: keyof typeof FIELDS): string =>
      header
        .subarray(FIELDS[field][0], FIELDS[field][0] + FIELDS[field][1])
        .toString("latin1")
        .split("\0")[0] ?? "";
    const size = Number.parseInt(text("size"), 8);
    if (
      Number.parseInt(text("checksum"), 8) !== checksumOf(header) ||
      !(size >= 0 && size <= MOST_ENTRY_BYTES)
    )
      throw new UnusableBackup("this is not an archive of `sluice backup`, or it is damaged");
    const at = input.position;
    const bytes = await input.take(size);
    await input.take(paddingOf(size));
    // Programs that pack a folder add entries for folders, and may begin names with ./
    if (text("type") === "0" || text("type") === "")
      yield {
        ...{ name: text("name").replace(/^\.\//, ""), bytes, at },
        modifiedMs: (Number.parseInt(text("modified"), 8) || 0) * 1_000,
      };
  }
}

/** Takes bytes from chunks of any size. */
class Input {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  position = 0;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async take(bytes: number): Promise<Buffer> {
    while (this.#heldBytes < bytes) {
      const { done, value } = await this.#chunks.next();
      if (done) throw new UnusableBackup("the backup is cut off: its end is missing");
      this.#held.push(value);
      this.#heldBytes += value.byteLength;
    }
    const [only = Buffer.alloc(0)] = this.#held;
    const all =
      this.#held.length <= 1
        ? Buffer.from(only.buffer, only.byteOffset, only.byteLength)
        : Buffer.concat(this.#held);
    this.#held = [all.subarray(bytes)];
    this.#heldBytes = all.byteLength - bytes;
    this.position += bytes;
    return all.subarray(0, bytes);
  }
}
