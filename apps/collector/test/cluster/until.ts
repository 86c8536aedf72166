/** Asks again and again, and resolves with the first answer that is as wanted. */
export async function until<T>(ask: () => Promise<T>, is: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await ask();
    if (is(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
