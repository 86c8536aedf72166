/** A promise that is settled from outside. */
export interface Deferred {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(reason: unknown): void;
}

export function deferred(): Deferred {
  let settle: Pick<Deferred, "resolve" | "reject"> | undefined;
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return {
    promise,
    resolve: () => settle?.resolve(),
    reject: (reason) => settle?.reject(reason),
  };
}
