import type { Value } from "./read-cells.js";

/** The approximate size of these values. */
export function bytesIn(values: readonly Value[]): number {
  return values.reduce<number>(
    (sum, value) => sum + (typeof value === "string" || value instanceof Uint8Array ? value.length : 8),
    0,
  );
}
