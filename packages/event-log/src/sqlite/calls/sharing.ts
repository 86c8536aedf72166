import type { MessagePort } from "node:worker_threads";
import type { Offset } from "../../message/batch.js";
import type { ConfigChange } from "../../ports/documents.js";
import type { TrustedTime } from "../../rules/trusted-time.js";
import type { Answer, Call, CallAnswer, LogStats, Snapshot, SourceName } from "./operations.js";

/**
 * Numbers of the store that every thread reads in shared memory. The store's thread writes them before it answers what changed them. So
 * whoever heard of an answer, in whatever way, sees them.
 */
const HEAD = 0;
const MESSAGES = 1;
const BYTES = 2;

export function sharedStats(stats: LogStats): SharedArrayBuffer {
  const shared = new SharedArrayBuffer(3 * BigInt64Array.BYTES_PER_ELEMENT);
  shareStats(shared, stats);
  return shared;
}

export function shareStats(shared: SharedArrayBuffer, { head, messages, bytes }: LogStats): void {
  const numbers = new BigInt64Array(shared);
  Atomics.store(numbers, MESSAGES, BigInt(messages));
  Atomics.store(numbers, BYTES, BigInt(bytes));
  Atomics.store(numbers, HEAD, BigInt(head));
}

export function headOf(shared: SharedArrayBuffer): Offset {
  return Number(Atomics.load(new BigInt64Array(shared), HEAD)) as Offset;
}

export function sizesOf(shared: SharedArrayBuffer): Pick<LogStats, "messages" | "bytes"> {
  const numbers = new BigInt64Array(shared);
  return {
    messages: Number(Atomics.load(numbers, MESSAGES)),
    bytes: Number(Atomics.load(numbers, BYTES)),
  };
}

/** A call, and the buffers in it that are moved on with it. */
export interface SharedCall extends Call {
  readonly transfer: readonly ArrayBuffer[];
}

/** What a thread that joined a store sends to the thread that has it. */
export type FromMember =
  /** Those that do not go to the store's thread. */
  | { readonly kind: "calls"; readonly calls: readonly SharedCall[] }
  /** The change of this number is in force in the thread. */
  | { readonly kind: "followed"; readonly change: number };

/** What the thread that has the store sends. */
export type FromHost =
  | Opened
  /** `sources`: those that got a number since the last time. They are known before the calls are answered. */
  | { readonly kind: "answers"; readonly answers: readonly Answer[]; readonly sources: readonly SourceName[] }
  | { readonly kind: "changed"; readonly number: number; readonly change: ConfigChange };

/** Replaces every copy of stored data. The first message, and one after each time that the store was opened again. */
export interface Opened {
  readonly kind: "opened";
  readonly snapshot: Snapshot;
  /** The last change of a document. */
  readonly change: number;
  readonly time: TrustedTime;
  /** Leads to the store's thread. Absent: calls go to the thread that has the store. */
  readonly calls?: MessagePort;
}

/** The buffers of rows and of parts of a snapshot, which are transferred and not copied. Each has its own. */
export function buffersOfAnswer(answer: CallAnswer): ArrayBuffer[] {
  if (answer.kind !== "done") return [];
  if (answer.answer instanceof Uint8Array) return [answer.answer.buffer as ArrayBuffer];
  const { rows = [] } = (answer.answer ?? {}) as {
    rows?: readonly { meta: Uint8Array<ArrayBuffer>; body: Uint8Array<ArrayBuffer> }[];
  };
  return rows.flatMap(({ meta, body }) => [meta.buffer, body.buffer]);
}
