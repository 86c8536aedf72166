/** Merges descending sequences into one. Equal numbers come in the order of their sources. Ends all sources when it ends. */
export function* mergeDescending(
  sources: readonly Iterator<number>[],
): Generator<{ readonly source: number; readonly value: number }, void> {
  const heads = sources.map((iterator, source) => ({ iterator, source, next: iterator.next() }));
  try {
    for (;;) {
      let largest: (typeof heads)[number] | undefined;
      for (const head of heads) {
        if (!head.next.done && (largest === undefined || head.next.value > largest.next.value))
          largest = head;
      }
      if (largest === undefined) return;
      const { source, iterator, next } = largest;
      largest.next = iterator.next();
      yield { source, value: next.value };
    }
  } finally {
    for (const { iterator } of heads) iterator.return?.();
  }
}

/** Merges descending sequences into one that has each number once. */
export function* uniqueDescending(sources: readonly Iterator<number>[]): Generator<number, void> {
  let last = Number.POSITIVE_INFINITY;
  for (const { value } of mergeDescending(sources)) {
    if (value < last) yield value;
    last = value;
  }
}
