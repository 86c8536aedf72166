import { isPlainObject } from "@sluice/protocol";
import { CommandFailure } from "../failures/exit-codes.js";

/** Parses an option that must be a JSON object. */
export function readJsonObject(option: string, text: string): { readonly [name: string]: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    if (isPlainObject(value)) return value;
  } catch {
    // Reported below, like JSON that is not an object.
  }
  throw new CommandFailure("usage", `${option} must be a JSON object, got ${text}`);
}
