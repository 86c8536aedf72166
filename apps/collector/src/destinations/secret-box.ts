import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { chmod, open, readFile, stat } from "node:fs/promises";

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
}

/** The key that secrets are sealed with. */
export async function openSecretKey({ fromEnvironment, file }: SecretKeyOptions): Promise<Uint8Array> {
  if (fromEnvironment !== undefined && fromEnvironment !== "") {
    const key = decodeKey(fromEnvironment);
    if (key !== undefined) return key;
    throw new RangeError(
      "SLUICE_SECRET_KEY must be 32 bytes in hex or base64; `openssl rand -base64 32` makes one",
    );
  }
  try {
    // "wx": of two processes that start at once, one makes the key and the other reads it.
    const handle = await open(file, "wx", 0o600);
    try {
      const key = randomBytes(KEY_BYTES);
      await handle.writeFile(`${key.toString("base64")}\n`);
      await handle.sync();
      return key;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  if (process.platform !== "win32" && ((await stat(file)).mode & 0o077) !== 0) await chmod(file, 0o600);
  const key = decodeKey((await readFile(file, "utf8")).trim());
  if (key === undefined) throw new RangeError(`The secret key file ${file} does not hold 32 bytes in base64`);
  return key;
}

function decodeKey(text: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  const bytes = Buffer.from(text, "base64");
  return bytes.length === KEY_BYTES && /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? bytes : undefined;
}
