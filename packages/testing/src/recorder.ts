import type { UncheckedMessage } from "@sluice/protocol";

/** A message as it arrived. */
export type ReceivedMessage = UncheckedMessage;

/** One request as it arrived, whatever became of it. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The status it was answered with; 0 where no answer was given. */
  readonly status: number;
  /** The uncompressed body. */
  readonly body: string;
}

/** Some fields that a message must have (compared as JSON), or a function that knows it. */
export type Match = Partial<ReceivedMessage> | ((message: ReceivedMessage) => boolean);

export interface WaitOptions {
  /** How many such messages to wait for. Default: 1. */
  readonly count?: number;
  /** Milliseconds. Default: 5_000. */
  readonly timeoutMs?: number;
}

/** What arrived. */
export interface Recorder {
  /** Messages that were accepted, in the order of their arrival. One that arrived twice is here twice. */
  readonly messages: readonly ReceivedMessage[];
  readonly requests: readonly ReceivedRequest[];
  /**
   * Resolves with the first `count` messages that match, as soon as they have arrived. Rejects after `timeoutMs`, saying
   * what did arrive.
   */
  waitFor(match: Match, options?: WaitOptions): Promise<readonly ReceivedMessage[]>;
  /** Forgets what arrived. */
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
    waitFor: (match, { count = 1, timeoutMs = 5_000 } = {}) =>
      new Promise((resolve, reject) => {
        const look = (): boolean => {
          const found = messages.filter((message) => matches(message, match));
          if (found.length < count) return false;
          waiters.delete(look);
          clearTimeout(timer);
          resolve(found.slice(0, count));
          return true;
        };
        const timer = setTimeout(() => {
          waiters.delete(look);
          const found = messages.filter((message) => matches(message, match)).length;
          const arrived =
            messages.length === 0
              ? "nothing arrived"
              : `${found} of ${messages.length} matched; arrived: ${messages.slice(-LISTED).map(named).join(", ")}`;
          reject(new Error(`Waited ${timeoutMs} ms for ${count} matching messages; ${arrived}`));
        }, timeoutMs);
        if (!look()) waiters.add(look);
      }),
  };
}

/** Messages that a wait which runs out lists, the last ones. */
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
