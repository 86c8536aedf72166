/** Overhead of an object or array, and of each value in it, in bytes. */
const CONTAINER_BYTES = 64;
const VALUE_BYTES = 16;

/** Estimates the heap that a parsed JSON value takes, in bytes. Many small objects take twenty times their text. */
export function heldBytes(value: unknown): number {
  if (typeof value === "string") return VALUE_BYTES + value.length;
  if (typeof value !== "object" || value === null) return VALUE_BYTES;
  let bytes = CONTAINER_BYTES + VALUE_BYTES;
  if (Array.isArray(value)) for (const item of value) bytes += heldBytes(item);
  else for (const name in value) bytes += name.length + heldBytes((value as Record<string, unknown>)[name]);
  return bytes;
}
