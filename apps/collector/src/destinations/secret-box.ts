import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { chmod, link, open, readFile, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "../process/write-durably.js";

/** Whether a stored value contains a sealed secret at any depth. */
export function hasSealed(value: unknown): boolean {
  return JSON.stringify(value ?? null).includes(`"${PREFIX}`);
}

/** Encrypts secrets for the store with AES-256-GCM, which detects tampering. */
export interface SecretBox {
  seal(secret: string): string;
  /** Throws if the secret was sealed with another key or was modified. */
  open(sealed: string): string;
}

const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const PREFIX = "sealed.v1.";

export function secretBox(key: Uint8Array): SecretBox {
  if (key.length !== KEY_BYTES)
    throw new RangeError(`A secret key must have ${KEY_BYTES} bytes, got ${key.length}`);
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
          "A stored secret cannot be decrypted. If SLUICE_SECRET_KEY or the secret key file in the data folder was replaced, restore the previous key. Otherwise enter the secret again",
          { cause },
        );
      }
    },
  };
}

export interface SecretKeyOptions {
  /** The value of `SLUICE_SECRET_KEY`: 32 bytes in hex or base64. */
  readonly fromEnvironment?: string | undefined;
  /** File that holds the key if the environment does not set one. Created on first use, readable by its owner only. */
  readonly file: string;
  /** Returns the ids of everything whose secrets are sealed with the key. Called only if the file has no usable key. */
  readonly sealedFor: () => Promise<readonly string[]>;
}

export interface SecretKey {
  readonly key: Uint8Array;
  /** The ids of everything whose secrets are lost, because the file was missing and a new key was created. */
  readonly orphaned: readonly string[];
}

/**
 * Reads or creates the key that seals secrets. If the file is damaged (empty or truncated) and no secret is sealed with
 * it yet, a new file replaces it. If secrets are sealed with it, rejects with their ids.
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
      "SLUICE_SECRET_KEY must be 32 bytes in hex or base64. Run `openssl rand -base64 32` to generate a key",
    );
  }
  const kept = await readKey(file);
  if (kept.kind === "usable") return { key: kept.key, orphaned: [] };
  const sealed = await sealedFor();
  if (kept.kind === "damaged") {
    if (sealed.length > 0) throw damagedKey(file, kept.reason, sealed);
    await rm(file);
  }
  return { key: await makeKey(file), orphaned: sealed };
}

function damagedKey(file: string, reason: string, ids: readonly string[]): Error {
  return new Error(
    `The secret key file ${file} is damaged: ${reason}. It is needed to decrypt the secrets of ${ids.join(", ")}. Restore the file from a backup, or set SLUICE_SECRET_KEY to the key. If you have no copy, delete the file, start the collector, and enter these secrets again`,
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

/** Creates the file atomically. If two processes start at the same time, one creates the key and the other reads it. */
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
    await syncFolder(dirname(file));
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

/** A key in hex or base64; undefined if the text is none. */
export function decodeKey(text: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  const bytes = Buffer.from(text, "base64");
  return bytes.length === KEY_BYTES && /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? bytes : undefined;
}
