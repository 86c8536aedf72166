import type { Offset } from "../../message/last-message.js";
import type { LogStats } from "./operations.js";

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
