/** What an object or array takes beside its contents, and what a value in one takes, in bytes. */
const CONTAINER_BYTES = 64;
const VALUE_BYTES = 16;

/** About how many bytes of the heap a value takes that was parsed from JSON. Many small objects take twenty times their text. */
export function heldBytes(value: unknown): number {
  if (typeof value === "string") return VALUE_BYTES + value.length;
  if (typeof value !== "object" || value === null) return VALUE_BYTES;
  let bytes = CONTAINER_BYTES + VALUE_BYTES;
  if (Array.isArray(value)) for (const item of value) bytes += heldBytes(item);
  else for (const name in value) bytes += name.length + heldBytes((value as Record<string, unknown>)[name]);
  return bytes;
}
