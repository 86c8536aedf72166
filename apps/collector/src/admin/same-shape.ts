type Writable<T> = T extends readonly (infer U)[]
  ? Writable<U>[]
  : T extends object
    ? { -readonly [K in keyof T]: Writable<T[K]> }
    : T;

/** Whether a schema's type and the protocol's are the same but for `readonly`: `const _: SameShape<Static<typeof X>, XView> = true`. */
export type SameShape<A, B> = [Writable<A>] extends [Writable<B>]
  ? [Writable<B>] extends [Writable<A>]
    ? true
    : false
  : false;
