/** Calls the application's code and swallows what it throws or rejects with. Returns undefined if it throws. */
export function contained<Args extends readonly unknown[]>(
  call: ((...args: Args) => unknown) | undefined,
  ...args: Args
): unknown {
  if (!call) return undefined;
  try {
    const result = call(...args);
    if (isThenable(result)) result.then(undefined, () => {});
    return result;
  } catch {
    return undefined;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
