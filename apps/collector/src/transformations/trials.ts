import { setImmediate as nextTurn } from "node:timers/promises";
import type { TransformationResult } from "@sluice/control-api";
import { semaphore } from "@sluice/resilience";
import type {
  CodeCheck,
  Sandboxes,
  TransformCode,
  TransformLanguage,
  TransformResult,
} from "@sluice/transformations";
import type { OutgoingMessage } from "../destinations/destination.js";
import { CollectorError } from "../errors.js";
import { sandboxesOfPackage } from "./sandboxes-of-package.js";
import { transformInput } from "./transform-input.js";
import { withResult } from "./transformed.js";

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

/** Messages that cross into the sandbox together: few, because each may become many. */
const TOGETHER = 25;

/** What code did with one message. */
export interface Tried extends Pick<TransformationResult, "messageId" | "result" | "error"> {
  /** All of it, with the message before and after. The values of secrets are masked in what the code returned. */
  view(): TransformationResult;
}

/** Runs code on messages, one batch after the other. Ends when the signal aborts. */
export async function* tryMessages(
  sandboxes: Pick<Sandboxes, "run">,
  code: TransformCode,
  messages: readonly OutgoingMessage[],
  signal: AbortSignal,
): AsyncGenerator<Tried> {
  const mask = secretMask(code.secrets);
  for (let at = 0; at < messages.length && !signal.aborted; at += TOGETHER) {
    const batch = messages.slice(at, at + TOGETHER);
    const results = await sandboxes.run(code, batch.map(transformInput));
    for (const [index, message] of batch.entries()) yield triedOf(message, results[index], mask);
    // The results may take milliseconds to read, and others use the event loop too.
    await nextTurn();
  }
}

function triedOf(
  message: OutgoingMessage,
  found: TransformResult | undefined,
  mask: <T>(value: T) => T,
): Tried {
  if (found === undefined) throw new Error("the sandbox gave no result");
  const { messageId } = message;
  const result = wordOf(found);
  const tried = { messageId, result, ...(found.kind === "failed" ? { error: errorOf(found) } : {}) };
  return {
    ...tried,
    view() {
      const before = shown(message);
      const base = { ...tried, before, logs: found.logs };
      if (result === "same") return { ...base, after: [before] };
      if (found.kind !== "messages" || result === "dropped") return base;
      return { ...base, after: found.messages.map((one) => mask(shown(withResult(message, one)))) };
    },
  };
}

function wordOf(found: TransformResult): Tried["result"] {
  if (found.kind !== "messages") return found.kind;
  return found.messages.length === 0 ? "dropped" : "changed";
}

function errorOf({
  code,
  message,
  line,
  column,
}: Extract<TransformResult, { kind: "failed" }>): NonNullable<Tried["error"]> {
  return {
    code,
    message,
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
  };
}

/** A message as a function gets it: what it returned is shown as the next function would get it. */
function shown(message: OutgoingMessage): TransformationResult["before"] {
  return JSON.parse(transformInput(message).json);
}

/** Shorter values occur in many texts by chance. */
const SHORTEST_MASKED = 4;

/** Replaces secrets in all texts of a value, with the words that the log of a function has for them. */
function secretMask(secrets: TransformCode["secrets"]): <T>(value: T) => T {
  const hidden = Object.entries(secrets)
    .filter(([, secret]) => secret.length >= SHORTEST_MASKED)
    // Longest first, because one may be part of another.
    .sort(([, one], [, other]) => other.length - one.length);
  const hide = (text: string): string =>
    hidden.reduce((left, [name, secret]) => left.replaceAll(secret, () => `[secret ${name}]`), text);
  const masked = (value: unknown): unknown => {
    if (typeof value === "string") return hide(value);
    if (Array.isArray(value)) return value.map(masked);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [hide(name), masked(inner)]));
  };
  return <T>(value: T): T => (hidden.length === 0 ? value : (masked(value) as T));
}
