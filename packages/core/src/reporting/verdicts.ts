import type { RejectedMessage } from "@sluice/protocol";
import type { Batch } from "../message/batch.js";
import type { RefusedMessage } from "./reports.js";

/** Counts how many of the first `count` messages of a batch were refused. Each message counts once. */
export function refusedAmong(rejected: readonly RejectedMessage[], count: number): number {
  if (rejected.length === 0) return 0;
  const indexes = new Set<number>();
  for (const { index } of rejected) {
    if (index >= 0 && index < count) indexes.add(index);
  }
  return indexes.size;
}

/** The messages of a batch that the collector refused, with its reasons, by their index in the batch. */
export function refusedOf(
  batch: Batch,
  rejected: readonly RejectedMessage[],
): ReadonlyMap<number, RefusedMessage> {
  const refused = new Map<number, RefusedMessage>();
  for (const { index, code, message } of rejected) {
    const held = batch[index];
    if (!held || refused.has(index)) continue;
    const { messageId, json } = held;
    refused.set(index, { messageId, json, reason: String(code ?? "unknown"), text: String(message ?? "") });
  }
  return refused;
}
