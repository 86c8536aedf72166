import { semaphore } from "@sluice/resilience";
import type { CodeCheck, Sandboxes, TransformLanguage } from "@sluice/transformations";
import { CollectorError } from "../errors.js";
import { sandboxesOfPackage } from "./sandboxes-of-package.js";

/** Trials that may wait for the one that runs. */
const MOST_WAITING = 8;

/** Runs code that is not in force, beside delivery: in sandboxes of its own, so that it delays no message. */
export class Trials {
  readonly #openSandboxes: () => Promise<Sandboxes>;
  readonly #turns = semaphore(1);
  #sandboxes: Promise<Sandboxes> | undefined;

  /** `openSandboxes` is called at the first trial. Default: the sandboxes of `@sluice/transformations`. */
  constructor(openSandboxes: () => Promise<Sandboxes> = sandboxesOfPackage) {
    this.#openSandboxes = openSandboxes;
  }

  /** What is wrong with code, without running it. */
  async check(code: string, language: TransformLanguage): Promise<CodeCheck> {
    return (await this.#open()).check(code, language);
  }

  /** Runs `trial` when those before it have ended. Throws `rate_limited` if too many wait, and rejects with the signal's reason. */
  async run<T>(signal: AbortSignal, trial: (sandboxes: Sandboxes) => Promise<T>): Promise<T> {
    if (this.#turns.waiting >= MOST_WAITING)
      throw new CollectorError(
        "rate_limited",
        `one test or dry run of a transformation runs at a time, and ${MOST_WAITING} wait already: try again in a moment`,
        { details: { retryAfterSeconds: 1 } },
      );
    const release = await this.#turns.acquire(signal);
    try {
      return await trial(await this.#open());
    } finally {
      release();
    }
  }

  async close(): Promise<void> {
    await (await this.#sandboxes?.catch(() => undefined))?.close();
  }

  #open(): Promise<Sandboxes> {
    this.#sandboxes ??= this.#openSandboxes().catch((error: unknown) => {
      this.#sandboxes = undefined;
      throw error;
    });
    return this.#sandboxes;
  }
}
