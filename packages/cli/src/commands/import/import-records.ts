import { open } from "node:fs/promises";
import type { IngestSuccess } from "@sluice/protocol";
import { LIMITS } from "@sluice/protocol";
import { semaphore } from "@sluice/resilience";
import { postBatch } from "../../connection/post-batch.js";
import type { Io } from "../../terminal/io.js";
import { type Prepared, prepareMessage, type RejectIssue } from "./prepare-message.js";
import type { FileRecord, RecordSource } from "./reading/read-records.js";

type Sendable = Extract<Prepared, { readonly ok: true }>;

interface RecordBatch {
  readonly messages: readonly Sendable[];
  readonly rejects: readonly Extract<Prepared, { readonly ok: false }>[];
  /** The last line it covers. */
  readonly line: number;
}

const RECORDS_PER_BATCH = 500;
/** The limit for a request, minus room for the envelope. */
const BYTES_PER_BATCH = LIMITS.batchBytes - 1_024;

/** Validates records after a line and groups them into batches. */
async function* recordBatches(
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

/** A refused record, as a line of the reject file. */
interface Reject {
  readonly line: number;
  readonly issues: readonly RejectIssue[];
  readonly raw: string;
}

/** Appends refused records as JSON lines. The file is created with the first one. */
interface RejectFile {
  /** The length of the file; 0 if nothing was written. */
  bytes(): number;
  write(rejects: readonly Reject[]): Promise<void>;
  close(): Promise<void>;
}

function rejectFile(path: string): RejectFile {
  let file: Awaited<ReturnType<typeof open>> | undefined;
  let bytes = 0;
  return {
    bytes: () => bytes,
    async write(rejects) {
      if (rejects.length === 0) return;
      file ??= await open(path, "a", 0o600);
      if (bytes === 0) bytes = (await file.stat()).size;
      const text = rejects.map((reject) => `${JSON.stringify(reject)}\n`).join("");
      await file.appendFile(text);
      bytes += Buffer.byteLength(text);
    },
    async close() {
      await file?.close();
    },
  };
}
