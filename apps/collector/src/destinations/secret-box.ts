import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { chmod, link, open, readFile, rm, stat } from "node:fs/promises";

/** Whether a stored value has a sealed secret somewhere in it. */
export function hasSealed(value: unknown): boolean {
  return JSON.stringify(value ?? null).includes(`"${PREFIX}`);
}

/** Seals secrets for the store: AES-256-GCM, so a sealed one that was changed does not open. */
export interface SecretBox {
  seal(secret: string): string;
  /** Throws when it was sealed with another key, or changed. */
  open(sealed: string): string;
}

const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const PREFIX = "sealed.v1.";

export function secretBox(key: Uint8Array): SecretBox {
  if (key.length !== KEY_BYTES)
    throw new RangeError(`A secret key has ${KEY_BYTES} bytes, got ${key.length}`);
  return {
    seal(secret) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, iv);
      const text = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
      return PREFIX + Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64url");
    },
    open(sealed) {
      const bytes = Buffer.from(sealed.slice(PREFIX.length), "base64url");
      try {
        if (!sealed.startsWith(PREFIX)) throw new Error("not sealed");
        const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, IV_BYTES));
        decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
        const text = bytes.subarray(IV_BYTES + TAG_BYTES);
        return Buffer.concat([decipher.update(text), decipher.final()]).toString("utf8");
      } catch (cause) {
        throw new Error(
          "A stored secret does not open. Was SLUICE_SECRET_KEY, or the data folder's secret key file, replaced? Set the former key, or enter the secret again",
          { cause },
        );
      }
    },
  };
}

export interface SecretKeyOptions {
  /** The environment's `SLUICE_SECRET_KEY`: 32 bytes in hex or base64. */
  readonly fromEnvironment?: string | undefined;
  /** Where the key is kept, and made on first use, when the environment has none. Readable by its owner only. */
  readonly file: string;
  /** The destinations that have secrets sealed with the key. Asked only where the file has no usable key. */
  readonly sealedFor: () => Promise<readonly string[]>;
}

export interface SecretKey {
  readonly key: Uint8Array;
  /** Destinations whose secrets cannot be opened any more, because the file was missing and a new key was made. */
  readonly orphaned: readonly string[];
}

/**
 * The key that secrets are sealed with. A file without a usable key (empty, cut short) is replaced by a new one where nothing is sealed
 * with it yet; else it rejects, and says which destinations need it.
 */
export async function openSecretKey({
  fromEnvironment,
  file,
  sealedFor,
}: SecretKeyOptions): Promise<SecretKey> {
  if (fromEnvironment !== undefined && fromEnvironment !== "") {
    const key = decodeKey(fromEnvironment);
    if (key !== undefined) return { key, orphaned: [] };
    throw new RangeError(
      "SLUICE_SECRET_KEY must be 32 bytes in hex or base64; `openssl rand -base64 32` makes one",
    );
  }
  const kept = await readKey(file);
  if (kept.kind === "usable") return { key: kept.key, orphaned: [] };
  const destinations = await sealedFor();
  if (kept.kind === "damaged") {
    if (destinations.length > 0) throw damagedKey(file, kept.reason, destinations);
    await rm(file);
  }
  return { key: await makeKey(file), orphaned: destinations };
}

function damagedKey(file: string, reason: string, destinations: readonly string[]): Error {
  return new Error(
    `The secret key file ${file} is damaged: ${reason}. The secrets of ${destinations.join(", ")} were sealed with it and cannot be opened without it. Restore the file from a backup, or set SLUICE_SECRET_KEY to the key. If there is no copy, delete the file, start, and enter the secrets of these destinations again`,
  );
}

type KeptKey =
  | { readonly kind: "usable"; readonly key: Uint8Array }
  | { readonly kind: "missing" }
  | { readonly kind: "damaged"; readonly reason: string };

async function readKey(file: string): Promise<KeptKey> {
  let text: string;
  try {
    if (process.platform !== "win32" && ((await stat(file)).mode & 0o077) !== 0) await chmod(file, 0o600);
    text = (await readFile(file, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { kind: "missing" };
    throw error;
  }
  const key = decodeKey(text);
  if (key !== undefined) return { kind: "usable", key };
  return { kind: "damaged", reason: text === "" ? "it is empty" : "it does not hold 32 bytes in base64" };
}

/** Makes the file, whole or not at all. Of two processes that start at once, one makes the key and the other reads it. */
async function makeKey(file: string): Promise<Uint8Array> {
  const key = randomBytes(KEY_BYTES);
  const draft = `${file}.${process.pid}-${randomBytes(4).toString("hex")}`;
  const handle = await open(draft, "wx", 0o600);
  try {
    await handle.writeFile(`${key.toString("base64")}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await link(draft, file);
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const made = await readKey(file);
    if (made.kind !== "usable") throw error;
    return made.key;
  } finally {
    await rm(draft, { force: true });
  }
}

function decodeKey(text: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  const bytes = Buffer.from(text, "base64");
  return bytes.length === KEY_BYTES && /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? bytes : undefined;
}
