import { contained, reasonOf } from "../errors.js";

/**
 * Keeps an incoming request alive until `work` has settled: `waitUntil` of Cloudflare Workers and Vercel, or your own.
 */
export type WaitUntil = (work: Promise<unknown>) => unknown;

/** Options of a single call. */
export interface CallOptions {
  /** Used for this call instead of the client's `waitUntil`. */
  waitUntil?: WaitUntil | undefined;
}

/** Reads `waitUntil` from the options of a call, which may be anything. Never throws. */
export function waitUntilOf(options: unknown): WaitUntil | undefined {
  // Most calls have no options.
  if (options === undefined) return undefined;
  const waitUntil = contained(() => (options as CallOptions | null)?.waitUntil);
  return typeof waitUntil === "function" ? (waitUntil as WaitUntil) : undefined;
}

/** How long a request is kept alive at most, in milliseconds. Cloudflare allows 30 s after the response. */
const KEEP_MS = 25_000;

/**
 * Flushes what the calls of one turn have queued, and keeps their request alive until it is sent. `flush` must not reject.
 *
 * The flush starts in a microtask: on edge runtimes a timer would end with the request.
 */
export class RequestFlush {
  readonly #flush: (timeoutMs: number) => Promise<unknown>;
  readonly #warn: (line: string) => void;
  /** The flush of this turn, and the functions that it was passed to. */
  #next: { readonly done: Promise<unknown>; readonly passedTo: Set<WaitUntil> } | undefined;
  #hasWarned = false;

  constructor(flush: (timeoutMs: number) => Promise<unknown>, warn: (line: string) => void) {
    this.#flush = flush;
    this.#warn = warn;
  }

  /** A call has queued a message. */
  keep(waitUntil: WaitUntil): void {
    this.#next ??= { done: this.#flushNext(), passedTo: new Set() };
    const { done, passedTo } = this.#next;
    if (passedTo.has(waitUntil)) return;
    passedTo.add(waitUntil);
    passTo(waitUntil, done, (error) => this.#failed(error));
  }

  async #flushNext(): Promise<unknown> {
    await undefined;
    this.#next = undefined;
    return this.#flush(KEEP_MS);
  }

  #failed(error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#warn(
      `[sluice] Option \`waitUntil\` failed: ${reasonOf(error)}. Messages may not be sent before the request ends.`,
    );
  }
}

/** Calls the application's `waitUntil`, which may throw outside of a request, or return a promise that rejects. */
function passTo(waitUntil: WaitUntil, work: Promise<unknown>, onFailure: (error: unknown) => void): void {
  try {
    Promise.resolve(waitUntil(work)).catch(onFailure);
  } catch (error) {
    onFailure(error);
  }
}
