import { BATCH, KEY } from "../calls/append-request.js";
import type { LogOperations } from "../calls/operations.js";
import { Refusal } from "../calls/refusal.js";

type AppendOperation = LogOperations["append"]["request"];

/** A position in a segment has 17 bits. */
const MOST_ITEMS = 131_072;

/** One batch of an append request. */
export interface RequestBatch {
  /** Its index in the request. */
  readonly index: number;
  readonly sourceNo: number;
  readonly receivedAtMs: number;
  readonly flags: number;
  readonly itemCount: number;
  /** Its keys are the words from `keysFrom` to `keysEnd` of the request's `keys`. */
  readonly keysFrom: number;
  readonly keysEnd: number;
  readonly skipped: Uint32Array;
  readonly extras: Uint8Array;
  /** Where its body begins in the request's `bodies`. */
  readonly bodyAt: number;
  readonly bodyBytes: number;
}

/** Throws a `Refusal` if a batch does not fit into a segment. */
export function refuseLongBatches({ batches }: AppendOperation): void {
  for (let record = 0; record < batches.length; record += BATCH.size) {
    if ((batches[record + BATCH.itemCount] ?? 0) > MOST_ITEMS)
      throw new Refusal("payload_too_large", `a batch has more than ${MOST_ITEMS} items`);
  }
}

/** The batches of a request, in its order. */
export function* batchesOf({ batches, skipped, extras }: AppendOperation): Generator<RequestBatch, void> {
  let keysFrom = 0;
  let skippedAt = 0;
  let extrasAt = 0;
  let bodyAt = 0;
  for (let index = 0, record = 0; record < batches.length; index++, record += BATCH.size) {
    const field = (name: keyof typeof BATCH): number => batches[record + BATCH[name]] ?? 0;
    const keysEnd = keysFrom + field("keyCount") * KEY.size;
    const skippedEnd = skippedAt + field("skippedCount");
    const extrasEnd = extrasAt + field("extrasBytes");
    const bodyBytes = field("bodyBytes");
    yield {
      index,
      sourceNo: field("sourceNo"),
      receivedAtMs: field("receivedAtMs"),
      flags: field("flags"),
      itemCount: field("itemCount"),
      keysFrom,
      keysEnd,
      skipped: skipped.subarray(skippedAt, skippedEnd),
      extras: extras.subarray(extrasAt, extrasEnd),
      bodyAt,
      bodyBytes,
    };
    keysFrom = keysEnd;
    skippedAt = skippedEnd;
    extrasAt = extrasEnd;
    bodyAt += bodyBytes;
  }
}
