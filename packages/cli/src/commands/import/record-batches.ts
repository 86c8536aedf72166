import { LIMITS } from "@sluice/protocol";
import { type Prepared, prepareMessage } from "./prepare-message.js";
import type { FileRecord } from "./reading/read-records.js";

export type Sendable = Extract<Prepared, { readonly ok: true }>;

export interface RecordBatch {
  readonly messages: readonly Sendable[];
  readonly rejects: readonly Extract<Prepared, { readonly ok: false }>[];
  /** The last line it covers. */
  readonly line: number;
}

const RECORDS_PER_BATCH = 500;
/** The limit for a request, minus room for the envelope. */
const BYTES_PER_BATCH = LIMITS.batchBytes - 1_024;

/** Validates records after a line and groups them into batches. */
export async function* recordBatches(
  records: AsyncIterable<FileRecord>,
  afterLine: number,
): AsyncGenerator<RecordBatch> {
  let messages: Sendable[] = [];
  let rejects: RecordBatch["rejects"][number][] = [];
  let bytes = 0;
  let line = afterLine;
  for await (const record of records) {
    if (record.line <= afterLine) continue;
    const prepared = prepareMessage(record);
    const size = prepared.ok ? Buffer.byteLength(prepared.json) + 1 : 0;
    if (bytes + size > BYTES_PER_BATCH || messages.length + rejects.length >= RECORDS_PER_BATCH) {
      yield { messages, rejects, line };
      messages = [];
      rejects = [];
      bytes = 0;
    }
    if (prepared.ok) messages.push(prepared);
    else rejects.push(prepared);
    bytes += size;
    line = record.line;
  }
  if (messages.length + rejects.length > 0) yield { messages, rejects, line };
}
