import { randomBytes } from "node:crypto";
import { type Region, writeKeyPrefix } from "@sluice/protocol";

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** `length` characters of letters and digits, each equally likely: 5.95 bits a character. */
export function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the greatest multiple of 62 that a byte holds; what is above would favour the first letters.
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62];
    }
  }
  return text;
}

/** An id such as `src_4kZ…`: 16 characters after its prefix. */
export function newId(prefix: "src" | "dst" | "tok" | "rpl" | "aud" | "msg" | "ctr" | "del"): string {
  return `${prefix}_${randomText(16)}`;
}

/** A source's write key: a prefix that names its region if there is one, and 190 bits. */
export function newWriteKey(region: Region | undefined): string {
  return `${writeKeyPrefix(region)}${randomText(32)}`;
}
