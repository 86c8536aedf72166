interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The calls that the other side of a connection has not answered yet, in the order in which they were made. How messages travel is up to its
 * user.
 */
export class PendingCalls {
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;

  get size(): number {
    return this.#pending.size;
  }

  /** Adds a call. Send `id` with the request, so that the answer can name it. */
  add<Result>(): { readonly id: number; readonly result: Promise<Result> } {
    this.#lastId += 1;
    const id = this.#lastId;
    const result = new Promise<Result>((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as (result: unknown) => void, reject });
    });
    return { id, result };
  }

  /** Resolves a call. An id that is not pending is ignored. */
  resolve(id: number, result: unknown): void {
    this.#take(id)?.resolve(result);
  }

  /** Rejects a call. An id that is not pending is ignored. */
  reject(id: number, error: Error): void {
    this.#take(id)?.reject(error);
  }

  /** Rejects every pending call, oldest first. `errorOf` gets whether the call is the oldest one. */
  rejectAll(errorOf: (isOldest: boolean) => Error): void {
    const all = [...this.#pending.values()];
    this.#pending.clear();
    all.forEach((call, place) => {
      call.reject(errorOf(place === 0));
    });
  }

  #take(id: number): Pending | undefined {
    const call = this.#pending.get(id);
    this.#pending.delete(id);
    return call;
  }
}
