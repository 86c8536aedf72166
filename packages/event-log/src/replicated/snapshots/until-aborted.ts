/** The parts until `signal` aborts, which also ends the wait for a part that does not come. */
export async function* untilAborted<Part>(
  parts: AsyncIterable<Part>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Part> {
  const iterator = parts[Symbol.asyncIterator]();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  aborted.catch(() => {});
  const onAbort = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      signal?.throwIfAborted();
      const next = await Promise.race([iterator.next(), aborted]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal?.removeEventListener("abort", onAbort);
    // Not awaited, because it ends after the part that did not come.
    void iterator.return?.(undefined).catch(() => {});
  }
}
