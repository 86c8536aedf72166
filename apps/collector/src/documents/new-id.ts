import { randomBytes } from "node:crypto";
import { type Region, writeKeyPrefix } from "@sluice/protocol";

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** Returns `length` uniformly random letters and digits: 5.95 bits of entropy per character. */
export function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 in a byte. Larger values would make the first characters more likely.
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62];
    }
  }
  return text;
}

const ID_LENGTH = 16;

/** Returns an id such as `src_4kZ…`: the prefix and 16 random characters. */
export function newId(
  prefix: "src" | "dst" | "tok" | "rpl" | "op" | "aud" | "msg" | "ctr" | "del" | "ntf" | "org" | "tr",
): string {
  return `${prefix}_${randomText(ID_LENGTH)}`;
}

/** Returns a write key for a source: a prefix for the region, if any, and 190 random bits. */
export function newWriteKey(region: Region | undefined): string {
  return `${writeKeyPrefix(region)}${randomText(32)}`;
}
