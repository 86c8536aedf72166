/** Calls the host's code, which does not decide about the answer: what it throws, now or by a rejected promise, ends here. */
export function contained<Args extends readonly unknown[]>(
  call: (...args: Args) => unknown,
  ...args: Args
): void {
  // The executor runs at once; what it throws is a rejection.
  new Promise((resolve) => resolve(call(...args))).catch(() => {});
}
