declare const offsetBrand: unique symbol;

/** A message's position in the log. Later messages have greater offsets, and there may be gaps. */
export type Offset = number & { readonly [offsetBrand]: true };

/** Before the first message of any log. */
export const BEFORE_FIRST = -1 as Offset;

/** The offset of the item at `index` of a batch whose first item has `first`. */
export function offsetAt(first: Offset, index: number): Offset {
  return (first + index) as Offset;
}
