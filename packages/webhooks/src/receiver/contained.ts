/** Calls the application's code and swallows what it throws or rejects with. */
export function contained<Args extends readonly unknown[]>(
  call: (...args: Args) => unknown,
  ...args: Args
): void {
  // The executor runs synchronously, and an error in it rejects the promise.
  new Promise((resolve) => resolve(call(...args))).catch(() => {});
}
