/** Lets work be left before it ends, all of it at once. */
export interface EarlyEnd<Left> {
  /** Settles like `work`, or resolves with what `end` was called with, whichever comes first. */
  within<Result>(work: Promise<Result>): Promise<Result | Left>;
  /** Nobody waits any longer, now and later. */
  end(left: Left): void;
}

/** In place of `Promise.race` with a promise that stays pending: that one would keep the result of every race for as long. */
export function earlyEnd<Left>(): EarlyEnd<Left> {
  const waiting = new Set<(left: Left) => void>();
  let ended: { readonly left: Left } | undefined;
  return {
    within<Result>(work: Promise<Result>) {
      return new Promise<Result | Left>((resolve, reject) => {
        if (ended === undefined) waiting.add(resolve);
        else resolve(ended.left);
        work.then(resolve, reject).finally(() => waiting.delete(resolve));
      });
    },
    end(left) {
      ended = { left };
      for (const resolve of waiting) resolve(left);
      waiting.clear();
    },
  };
}
