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
import { afterResult, transformInput } from "./transformed.js";

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

/** A function that runs behind the code that is tried. */
export interface Follower {
  /** As people know it. */
  readonly name: string;
  readonly code: TransformCode;
}

export interface TryOptions {
  readonly signal: AbortSignal;
  /** What messages of a source pass behind the code. Default: nothing. */
  readonly followerOf?: ((sourceId: string) => Promise<Follower | undefined>) | undefined;
  /** Asked before each batch. Default: never. */
  readonly isOver?: () => boolean;
}

/** Runs code on messages, one batch after the other. Ends when the signal aborts, and when it is over. */
export async function* tryMessages(
  sandboxes: Pick<Sandboxes, "run">,
  code: TransformCode,
  messages: readonly OutgoingMessage[],
  { signal, followerOf = async () => undefined, isOver = () => false }: TryOptions,
): AsyncGenerator<Tried> {
  const mask = secretMask([code.secrets]);
  for (let at = 0; at < messages.length && !signal.aborted && !isOver(); at += TOGETHER) {
    const batch = messages.slice(at, at + TOGETHER);
    const results = await sandboxes.run(code, batch.map(transformInput));
    const outcomes = batch.map((message, index) => outcomeOf(message, results[index], mask));
    for (const [sourceId, ofSource] of Map.groupBy(outcomes, ({ message }) => message.sourceId)) {
      const follower = await followerOf(sourceId);
      if (follower === undefined) continue;
      const maskBoth = secretMask([code.secrets, follower.code.secrets]);
      await follow(sandboxes, ofSource, follower, maskBoth);
    }
    for (const outcome of outcomes) yield triedOf(outcome);
    // The results may take milliseconds to read, and others use the event loop too.
    await nextTurn();
  }
}

/** What became of a message so far. */
interface Outcome {
  readonly message: OutgoingMessage;
  readonly logs: TransformResult["logs"];
  isSame: boolean;
  after: readonly OutgoingMessage[];
  error?: NonNullable<Tried["error"]>;
  /** Hides the secrets of all functions that it came through. */
  mask: Mask;
}

type Mask = <T>(value: T) => T;

function outcomeOf(message: OutgoingMessage, found: TransformResult | undefined, mask: Mask): Outcome {
  if (found === undefined) throw new Error("the sandbox gave no result");
  return {
    message,
    logs: found.logs,
    isSame: found.kind === "same",
    after: afterResult(message, found),
    ...(found.kind === "failed" ? { error: errorOf(found) } : {}),
    mask,
  };
}

/** Sends what became of messages through the next function. */
async function follow(
  sandboxes: Pick<Sandboxes, "run">,
  outcomes: readonly Outcome[],
  { name, code }: Follower,
  mask: Mask,
): Promise<void> {
  const items = outcomes.flatMap(({ after }) => after.map(transformInput));
  const results = await sandboxes.run(code, items);
  let at = 0;
  for (const outcome of outcomes) {
    const own = results.slice(at, at + outcome.after.length);
    at += own.length;
    const failed = own.find((result) => result.kind === "failed");
    outcome.isSame &&= own.every(({ kind }) => kind === "same");
    outcome.after =
      failed === undefined ? outcome.after.flatMap((one, index) => afterResult(one, own[index])) : [];
    outcome.mask = mask;

    // The place is one in another file.
    if (failed !== undefined)
      outcome.error = { code: failed.code, message: `${name}, which runs behind it: ${failed.message}` };
  }
}

function triedOf({ message, isSame, after, error, logs, mask }: Outcome): Tried {
  const kept = after.length === 0 ? "dropped" : "changed";
  const result = error !== undefined ? "failed" : isSame ? "same" : kept;
  const tried = { messageId: message.messageId, result, ...(error === undefined ? {} : { error }) } as const;
  return {
    ...tried,
    view() {
      const before = shown(message);
      const base = { ...tried, before, logs };
      if (result === "same") return { ...base, after: [before] };
      return after.length === 0 ? base : { ...base, after: after.map((one) => mask(shown(one))) };
    },
  };
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
function secretMask(secrets: readonly TransformCode["secrets"][]): Mask {
  const hidden = secrets
    .flatMap((named) => Object.entries(named))
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
