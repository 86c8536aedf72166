/** The destinations of each world. `ordered` asks for order per user; `notices` gets the messages of an audience. */
export const DESTINATIONS = ["plain", "ordered", "notices"] as const;
export type DestinationName = (typeof DESTINATIONS)[number];

/** A webhook request that the receiver read completely. */
export interface Receipt {
  readonly destination: DestinationName;
  readonly messageId: string;
  readonly userId: string;
  readonly atMs: number;
  /** `X-Attempt` of the request. */
  readonly attempt: number;
  /** The status that the receiver answered. */
  readonly status: number;
  /** Whether the collector may not have seen the answer: the connection broke, or it was too late. */
  isUncertain: boolean;
}

/** When the collector was killed, so that it could not record what it had just delivered. */
export interface Interruption {
  readonly atMs: number;
  /** When it ran again. Until then, the receiver reads what it had sent before. */
  overMs: number;
}

/** Numbered messages of one SDK process. Message `n` has the id `RUN-n`. */
export interface Run {
  readonly name: string;
  readonly users: number;
  /** Every message with a smaller number was passed to the SDK. */
  tracked: number;
  /**
   * - `running`
   * - `closed`: it ended by itself, so it must have reported everything that it lost.
   * - `killed`: it could report nothing.
   */
  state: "running" | "closed" | "killed";
  /** Messages with a smaller number were delivered or on disk when the SDK said so. */
  keptBelow: number;
}

/** What each side said about each message, across all processes and their ends. */
export class Ledger {
  readonly runs = new Map<string, Run>();
  /** The collector answered 200, and the SDK saw it. */
  readonly acknowledged = new Set<string>();
  /** Reported by the SDK, with its code. */
  readonly reportedLost = new Map<string, string>();
  readonly receipts: Receipt[] = [];
  readonly interruptions: Interruption[] = [];
  /** What the receiver found wrong with requests, such as a signature. */
  readonly differences: string[] = [];

  open(name: string, users: number): Run {
    const run: Run = { name, users, tracked: 0, state: "running", keptBelow: 0 };
    this.runs.set(name, run);
    return run;
  }

  /** Notes that the collector is killed now. `over` is called when it runs again. */
  interrupt(): { readonly over: () => void } {
    const interruption: Interruption = { atMs: performance.now(), overMs: Number.POSITIVE_INFINITY };
    this.interruptions.push(interruption);
    return {
      over: () => {
        interruption.overMs = performance.now();
      },
    };
  }

  get tracked(): number {
    return [...this.runs.values()].reduce((sum, { tracked }) => sum + tracked, 0);
  }
}

/** The run and the number that an id was made from. */
export function partsOf(messageId: string): { readonly run: string; readonly n: number } {
  const at = messageId.lastIndexOf("-");
  return { run: messageId.slice(0, at), n: Number(messageId.slice(at + 1)) };
}

export const idOf = (run: string, n: number): string => `${run}-${n}`;
export const userOf = ({ name, users }: Run, n: number): string => `${name}-u${n % users}`;

/** 1 of 50 messages is refused for good. The receiver and the verdict agree on which. */
export const isRefusedForGood = (n: number): boolean => n % 50 === 13;
/** 1 of 100 fails at its first attempt. */
export const failsAtFirst = (n: number): boolean => n % 100 === 7;

/** A user is in the audience after so many events. */
export const EVENTS_OF_MEMBERS = 3;
