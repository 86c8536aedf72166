import type { IngestSuccess } from "@sluice/protocol";
import { semaphore } from "@sluice/resilience";
import { postBatch } from "../../connection/post-batch.js";
import type { Io } from "../../terminal/io.js";
import type { RecordSource } from "./reading/read-records.js";
import { type RecordBatch, recordBatches } from "./record-batches.js";
import { type Reject, type RejectFile, rejectFile } from "./reject-file.js";

export interface ImportOptions {
  readonly url: string;
  readonly writeKey: string;
  readonly source: RecordSource;
  /** Whether destinations get the messages. */
  readonly deliver: boolean;
  /** Records up to this line are skipped: an earlier run has imported them. */
  readonly afterLine: number;
  /** The file for refused records. */
  readonly rejectPath: string;
  readonly io: Io;
  /** Called after every batch. */
  readonly onProgress: (progress: ImportProgress) => Promise<void> | void;
  readonly onRetry: (reason: string) => void;
}

/** The counts of this run. */
export interface ImportProgress {
  /** Every record up to and including this line is done. */
  readonly line: number;
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: number;
  readonly rejectBytes: number;
  /** Notes on accepted messages, by code. */
  readonly notes: { readonly [code: string]: number };
  /** Messages whose `integrations` ask for a destination by name. */
  readonly naming: number;
}

const NOTHING_YET = { accepted: 0, duplicates: 0, rejected: 0, rejectBytes: 0, notes: {}, naming: 0 };

/** Concurrent requests. Four keep a collector busy whose commits take a millisecond. */
const CONCURRENCY = 4;

/**
 * Sends all records. Also resolves if it was interrupted: requests in progress end first, and everything up to `line` is stored.
 */
export async function importRecords(options: ImportOptions): Promise<ImportProgress> {
  const { source, afterLine, rejectPath, io, onProgress } = options;
  const rejects = rejectFile(rejectPath);
  const slots = semaphore(CONCURRENCY);
  let progress: ImportProgress = { ...NOTHING_YET, line: afterLine };
  let failure: unknown;
  /** Requests can end in any order. They are counted in the order of the file, so that `line` is never too high. */
  let counted: Promise<void> = Promise.resolve();

  const count = async (batch: RecordBatch, sending: Promise<IngestSuccess>): Promise<void> => {
    if (failure !== undefined) return;
    try {
      const answer = await sending;
      const rejected = await writeRejects(rejects, batch, answer);
      progress = {
        line: batch.line,
        accepted: progress.accepted + answer.accepted,
        duplicates: progress.duplicates + (answer.duplicates ?? 0),
        rejected: progress.rejected + rejected,
        rejectBytes: rejects.bytes(),
        ...marksOf(batch, answer, progress),
      };
      await onProgress(progress);
    } catch (error) {
      failure = error;
    }
  };

  try {
    for await (const batch of recordBatches(source.records, afterLine)) {
      const release = await slots.acquire();
      if (failure !== undefined || io.interrupted.aborted) {
        release();
        break;
      }
      const sending = sendBatch(batch, options);
      sending.finally(release).catch(() => {});
      counted = counted.then(() => count(batch, sending));
    }
  } finally {
    await counted;
    source.close();
    await rejects.close();
  }
  if (failure !== undefined && !io.interrupted.aborted) throw failure;
  return progress;
}

async function sendBatch(
  { messages }: RecordBatch,
  { url, writeKey, deliver, io, onRetry }: ImportOptions,
): Promise<IngestSuccess> {
  if (messages.length === 0) return { success: true, accepted: 0, duplicates: 0, rejected: [] };
  const batch = messages.map(({ json }) => json);
  return postBatch({ url, writeKey, batch, path: "import", deliver, io, onRetry });
}

/** Counts the notes and named destinations of the batch's messages that were accepted. */
function marksOf(
  { messages }: RecordBatch,
  { rejected = [] }: IngestSuccess,
  before: ImportProgress,
): Pick<ImportProgress, "notes" | "naming"> {
  const refused = new Set(rejected.map(({ index }) => index));
  const notes: { [code: string]: number } = { ...before.notes };
  let { naming } = before;
  messages.forEach((message, index) => {
    if (refused.has(index)) return;
    for (const code of message.notes) notes[code] = (notes[code] ?? 0) + 1;
    if (message.isNaming) naming += 1;
  });
  return { notes, naming };
}

/** Writes the records of a batch that we or the collector refused. Returns how many. */
async function writeRejects(rejects: RejectFile, batch: RecordBatch, answer: IngestSuccess): Promise<number> {
  const byUs = batch.rejects.map(({ line, raw, issues }): Reject => ({ line, issues, raw }));
  const byCollector = (answer.rejected ?? []).map(({ index, code, message }): Reject => {
    const refused = batch.messages[index];
    return { line: refused?.line ?? 0, issues: [{ code, path: "", message }], raw: refused?.json ?? "" };
  });
  await rejects.write([...byUs, ...byCollector]);
  return byUs.length + byCollector.length;
}
