import { backgroundClock, type Clock } from "@sluice/resilience";
import { readResult } from "./results.js";
import { type BatchAnswer, isStopping, type Stopped, type ThreadResult } from "./thread/answer.js";
import { ThreadClient, type ThreadEnded } from "./thread-client.js";
import type {
  CodeCheck,
  TransformCode,
  TransformItem,
  TransformLanguage,
  TransformResult,
} from "./transform.js";

/** So many messages in a row may each end their run, before the others of the batch fail unseen. */
const CULPRITS_IN_A_ROW = 3;
/** A batch may be stopped so often, each time after a deadline, before the others of it fail unseen. */
const STOPS = 10;

/**
 * Finds a result for each of `count` messages. `attempt` runs those from one index up to another, and may be stopped. Then the first
 * message without a result runs again at the head of the next attempt, where it has the whole deadline: if that is stopped too before it
 * has a result, it is the culprit. If nobody knows which message was running, they run one by one up to the culprit, and past those that
 * follow it directly.
 */
export async function runBatch(
  count: number,
  attempt: (from: number, to: number) => Promise<BatchAnswer>,
): Promise<readonly ThreadResult[]> {
  const results: ThreadResult[] = [];
  let stops = 0;
  let inARow = 0;
  let isOneByOne = false;
  let isCulpritBefore = false;
  while (results.length < count) {
    const from = results.length;
    const to: number = isOneByOne ? from + 1 : count;
    const { done, stopped }: BatchAnswer = await attempt(from, to);
    results.push(...done);
    if (done.length > 0) inARow = 0;
    if (stopped === undefined) {
      isOneByOne &&= !isCulpritBefore;
      isCulpritBefore = false;
      continue;
    }
    stops++;
    isCulpritBefore = done.length === 0 && (stopped.isKnown || to === from + 1);
    isOneByOne = !stopped.isKnown;
    if (isCulpritBefore) {
      results.push(failed(stopped));
      inARow++;
    }
    const reason = endOf(stopped, inARow, stops >= STOPS);
    if (reason === undefined) continue;
    const failure = { ...stopped.failure, message: stopped.failure.message + reason };
    while (results.length < count) results.push(failed({ failure, logs: [] }));
  }
  return results;
}

/** Why the rest of the batch is not tried, to be read after what happened last; undefined if it is. */
function endOf({ failure }: Pick<Stopped, "failure">, inARow: number, isOver: boolean): string | undefined {
  if (failure.code === "closed") return "";
  if (isOver) return "; its batch took too long before";
  return inARow < CULPRITS_IN_A_ROW ? undefined : "; so did others before it, and it was not tried";
}

function failed({ failure, logs }: Pick<Stopped, "failure" | "logs">): ThreadResult {
  return { kind: "failed", ...failure, logs };
}

const MB = 1_048_576;

export interface SandboxOptions {
  /** What a batch may take, and each message alone, in milliseconds of CPU time. Default: 1,000. */
  readonly deadlineMs?: number;
  /** What each transformation may take of memory, in MB. Default: 64. */
  readonly memoryMb?: number;
  /** Transformations that stay loaded in each of the two threads. Default: 8. */
  readonly maxSandboxes?: number;
  /** The threads end after so many milliseconds without work. Default: 30,000. */
  readonly idleMs?: number;
  readonly clock?: Clock;
}

export const SANDBOX_DEFAULTS = { deadlineMs: 1_000, memoryMb: 64, maxSandboxes: 8, idleMs: 30_000 } as const;

export interface SandboxStats {
  /** Threads that run: none before the first run and after a while without work, at most two. */
  readonly threads: number;
  /** Transformations that are loaded. */
  readonly sandboxes: number;
  /** Memory that these have reserved. */
  readonly memoryBytes: number;
}

/** Runs transformations. All of them share one thread, except those that ended it once: they share another. */
export interface Sandboxes {
  /** Answers one result per message, in order. Never rejects. */
  run(code: TransformCode, items: readonly TransformItem[]): Promise<readonly TransformResult[]>;
  /** Strips types, and checks syntax and the export. Nothing runs. */
  check(code: string, language: TransformLanguage): Promise<CodeCheck>;
  stats(): SandboxStats;
  /** Ends the threads. Messages that have no result yet fail with `closed`. */
  close(): Promise<void>;
}

/** Messages that cross the border at once. */
const BATCH_MESSAGES = 100;
const BATCH_CHARS = 524_288;
/** Keys that are kept apart. A transformation has a new key after each change, so that old ones leave in time. */
const MAX_APART = 1_000;

interface Lane {
  readonly thread: ThreadClient;
  sandboxes: number;
  memoryBytes: number;
}

export function openSandboxes(options: SandboxOptions = {}): Sandboxes {
  const { deadlineMs, memoryMb, maxSandboxes, idleMs } = { ...SANDBOX_DEFAULTS, ...options };
  const clock = options.clock ?? backgroundClock;
  const lane = (): Lane => ({
    thread: new ThreadClient({ memoryBytes: memoryMb * MB, maxSandboxes, idleMs, clock }),
    sandboxes: 0,
    memoryBytes: 0,
  });
  const shared = lane();
  const apart = lane();
  const keptApart = new Set<string>();

  const attempt = async (code: TransformCode, items: readonly TransformItem[]): Promise<BatchAnswer> => {
    const own = keptApart.has(code.key) ? apart : shared;
    const times = items.map(({ timeMs }) => timeMs);
    const texts = items.map(({ json }) => json);
    try {
      const answer = await own.thread.call(
        (thread) => thread.call("run", [{ code, times, texts, deadlineMs }]),
        deadlineMs,
      );
      own.sandboxes = answer.sandboxes;
      own.memoryBytes = answer.memoryBytes;
      if (answer.stopped !== undefined && isStopping(answer.stopped.failure)) add(keptApart, code.key);
      return answer;
    } catch (error) {
      const { failure } = error as ThreadEnded;
      if (failure.code !== "closed") add(keptApart, code.key);
      return { done: [], stopped: { failure, logs: [], isKnown: false } };
    }
  };

  return {
    async run(code, items) {
      const results: TransformResult[] = [];
      for (const batch of batchesOf(items)) {
        const found = await runBatch(batch.length, (from, to) => attempt(code, batch.slice(from, to)));
        for (const [i, result] of found.entries())
          results.push(readResult(result, batch[i] as TransformItem));
      }
      return results;
    },
    async check(code, language) {
      try {
        return await apart.thread.call((thread) => thread.call("check", [code, language]), deadlineMs);
      } catch (error) {
        return { ok: false, message: (error as ThreadEnded).failure.message };
      }
    },
    stats() {
      const running = [shared, apart].filter(({ thread }) => thread.isRunning);
      const sum = (of: (one: Lane) => number): number => running.reduce((total, one) => total + of(one), 0);
      return {
        threads: running.length,
        sandboxes: sum((one) => one.sandboxes),
        memoryBytes: sum((one) => one.memoryBytes),
      };
    },
    async close() {
      await Promise.all([shared.thread.close(), apart.thread.close()]);
    },
  };
}

function* batchesOf(items: readonly TransformItem[]): Generator<readonly TransformItem[]> {
  let batch: TransformItem[] = [];
  let chars = 0;
  for (const item of items) {
    if (batch.length === BATCH_MESSAGES || (batch.length > 0 && chars + item.json.length > BATCH_CHARS)) {
      yield batch;
      batch = [];
      chars = 0;
    }
    batch.push(item);
    chars += item.json.length;
  }
  if (batch.length > 0) yield batch;
}

function add(keys: Set<string>, key: string): void {
  keys.delete(key);
  keys.add(key);
  for (const oldest of keys) {
    if (keys.size <= MAX_APART) break;
    keys.delete(oldest);
  }
}
