import { closeSync, fstatSync, openSync } from "node:fs";
import { BEGIN, saltAtBeginning, writeBeginning } from "./beginning.js";
import { SALT_BYTES } from "./frame.js";
import { frameAt, readAt } from "./read-frames.js";

/**
 * For a repair: writes the beginning of a log again if it is damaged. Each entry begins with the same salt, so the first one has it.
 * `unreadable`: no entry can be found without the salt, or the file is something else. It is left as it is.
 */
export function mendBeginning(path: string): "intact" | "mended" | "unreadable" {
  const file = openSync(path, "r+");
  try {
    if (saltAtBeginning(file) !== undefined) return "intact";
    const salt = readAt(file, BEGIN, SALT_BYTES);
    if (frameAt(file, salt, BEGIN, fstatSync(file).size) === undefined) return "unreadable";
    writeBeginning(file, salt);
    return "mended";
  } finally {
    closeSync(file);
  }
}
