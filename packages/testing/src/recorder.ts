import type { UncheckedMessage } from "@sluice/protocol";

/** A message as it arrived. */
export type ReceivedMessage = UncheckedMessage;

/** A request as it arrived, whether it was accepted or not. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The status of the answer, or 0 if there was none. */
  readonly status: number;
  /** The uncompressed body. */
  readonly body: string;
}

/** Fields that a message must have (compared as JSON), or a function that tests it. */
export type Match = Partial<ReceivedMessage> | ((message: ReceivedMessage) => boolean);

export interface WaitOptions {
  /** The number of messages to wait for. Default: 1. */
  readonly count?: number;
  /** How long to wait, in milliseconds. Default: 5_000. */
  readonly timeoutMs?: number;
}

/** Everything that arrived. */
export interface Recorder {
  /** Accepted messages, in the order in which they arrived. A message that arrived twice is listed twice. */
  readonly messages: readonly ReceivedMessage[];
  readonly requests: readonly ReceivedRequest[];
  /**
   * Resolves with the first `count` messages that match, as soon as they have arrived. Rejects after `timeoutMs`, with a list of the
   * messages that did arrive.
   */
  waitFor(match: Match, options?: WaitOptions): Promise<readonly ReceivedMessage[]>;
  /** Clears messages and requests. */
  clear(): void;
}

export interface RecordingEnd {
  keep(messages: readonly ReceivedMessage[]): void;
  request(request: ReceivedRequest): void;
}

export function recorder(): Recorder & RecordingEnd {
  let messages: ReceivedMessage[] = [];
  let requests: ReceivedRequest[] = [];
  const waiters = new Set<() => void>();

  const waitFor: Recorder["waitFor"] = (match, { count = 1, timeoutMs = 5_000 } = {}) => {
    const call = callOf(waitFor);
    return new Promise((resolve, reject) => {
      const end = (): void => {
        waiters.delete(look);
        clearTimeout(timer);
      };
      const look = (): void => {
        try {
          const found = messages.filter((message) => matches(message, match));
          if (found.length < count) return;
          end();
          resolve(found.slice(0, count));
        } catch (error) {
          // An error of the test's own function is the test's, not that of the client that sends.
          end();
          reject(error);
        }
      };
      const timer = setTimeout(() => {
        waiters.delete(look);
        const found = messages.filter((message) => matches(message, match)).length;
        const arrived =
          messages.length === 0
            ? "nothing arrived"
            : `${found} of ${messages.length} matched; arrived: ${messages.slice(-LISTED).map(named).join(", ")}`;
        reject(errorAt(call, `Waited ${timeoutMs} ms for ${count} matching messages; ${arrived}`));
      }, timeoutMs);
      waiters.add(look);
      look();
    });
  };

  return {
    get messages() {
      return messages;
    },
    get requests() {
      return requests;
    },
    keep: (arrived) => {
      messages.push(...arrived);
      for (const look of [...waiters]) look();
    },
    request: (arrived) => {
      requests.push(arrived);
    },
    clear: () => {
      messages = [];
      requests = [];
    },
    waitFor,
  };
}

/** The stack of the caller of `callee`. */
function callOf(callee: (...args: never[]) => unknown): { readonly stack?: string } {
  const call = {};
  Error.captureStackTrace?.(call, callee);
  return call;
}

/** An error that points at the line of the test, not at the timer that makes it. */
function errorAt({ stack }: { readonly stack?: string }, message: string): Error {
  const error = new Error(message);
  if (stack !== undefined) error.stack = `Error: ${message}\n${stack.slice(stack.indexOf("\n") + 1)}`;
  return error;
}

/** How many of the last messages the error of `waitFor` lists. */
const LISTED = 10;

function named({ type, event, name }: ReceivedMessage): string {
  const label = event ?? name;
  return label === undefined ? String(type) : `${type} ${JSON.stringify(label)}`;
}

function matches(message: ReceivedMessage, match: Match): boolean {
  if (typeof match === "function") return match(message);
  return Object.entries(match).every(
    ([field, value]) => JSON.stringify(message[field]) === JSON.stringify(value),
  );
}
