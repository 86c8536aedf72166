const EVERY_MS = 10;
/** For a condition that is a request. */
const ASK_EVERY_MS = 150;

/** Resolves when `isSo` returns true. Rejects after `timeoutMs`, which is long: only a hang reaches it. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  timeoutMs = 180_000,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const answer = isSo();
    if (await answer) return;
    if (performance.now() > deadlineMs)
      throw new Error(`Waited ${timeoutMs / 1_000} s in vain until ${what}`);
    await pause(answer instanceof Promise ? ASK_EVERY_MS : EVERY_MS);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
