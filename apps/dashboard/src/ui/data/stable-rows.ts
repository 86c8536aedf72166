import { useState } from "react";

/** A row of a list that is refreshed. It keeps its place when the item is no longer in the list. */
export interface StableRow<T> {
  readonly item: T;
  readonly isGone: boolean;
}

export interface StableRows<T> {
  readonly rows: readonly StableRow<T>[];
  /** Items above or between the rows that are not shown yet. */
  readonly newer: number;
}

/**
 * The rows to show after a refresh: those that were shown keep their order, with their new contents, and items after the last one are
 * added. Items before that are only counted, so that no row moves under the pointer.
 */
export function stableRows<T>(
  shown: readonly T[],
  fresh: readonly T[],
  keyOf: (item: T) => string,
): StableRows<T> {
  const now = new Map(fresh.map((item) => [keyOf(item), item]));
  const known = new Set(shown.map(keyOf));
  const lastShown = fresh.findLastIndex((item) => known.has(keyOf(item)));
  const added = fresh.filter((item, index) => index > lastShown && !known.has(keyOf(item)));
  const newer = fresh.filter((item, index) => index < lastShown && !known.has(keyOf(item)));
  // None of the shown rows is left: all of the list is new.
  if (lastShown < 0 && shown.length > 0)
    return { rows: shown.map((item) => ({ item, isGone: true })), newer: fresh.length };
  return {
    rows: [
      ...shown.map((item) => ({ item: now.get(keyOf(item)) ?? item, isGone: !now.has(keyOf(item)) })),
      ...added.map((item) => ({ item, isGone: false })),
    ],
    newer: newer.length,
  };
}

/** Keeps the rows of a refreshed list in place. `showNew` shows the list as it is now. */
export function useStableRows<T>(
  fresh: readonly T[],
  keyOf: (item: T) => string,
): StableRows<T> & { readonly showNew: () => void } {
  const [shown, setShown] = useState<readonly T[]>(fresh);
  const stable = stableRows(shown, fresh, keyOf);
  // Rows that were added at the end keep their place from now on.
  if (stable.rows.length > shown.length) setShown(stable.rows.map(({ item }) => item));
  return { ...stable, showNew: () => setShown(fresh) };
}
