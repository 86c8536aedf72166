import { open } from "node:fs/promises";
import { LIMITS } from "@sluice/protocol";
import { semaphore } from "@sluice/resilience";
import { postBatch } from "../../connection/post-batch.js";
import type { Io } from "../../terminal/io.js";
import { type Prepared, prepareMessage, type RejectIssue } from "./prepare-message.js";
import type { RecordSource } from "./read-records.js";

export interface ImportOptions {
  readonly url: string;
  readonly writeKey: string;
  readonly source: RecordSource;
  /** Records up to this line are skipped: an earlier run has done them. */
  readonly afterLine: number;
  /** Where refused records go; opened when the first one comes. */
  readonly rejectFile: string;
  readonly io: Io;
  /** Told after every batch. */
  readonly onProgress: (progress: ImportProgress) => Promise<void> | void;
  readonly onRetry: (reason: string) => void;
}

/** Counts of this run. */
export interface ImportProgress {
  /** Every record up to and with this line is done. */
  readonly line: number;
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: number;
  readonly rejectBytes: number;
}

type Sendable = Extract<Prepared, { readonly ok: true }>;

interface Batch {
  readonly messages: readonly Sendable[];
  readonly rejects: readonly Extract<Prepared, { readonly ok: false }>[];
  /** The last line it covers. */
  readonly line: number;
}

/** Requests under way at once: enough to keep a collector busy whose commits take a millisecond. */
const IN_FLIGHT = 4;
const MESSAGES_A_BATCH = 500;
/** Below the limit of 500 KB by room for the envelope. */
const BYTES_A_BATCH = LIMITS.batchBytes - 1_024;

/**
 * Sends every record. Resolves with what was done, also when it was interrupted: what is under way ends first, and
 * everything up to `line` is safe.
 */
export async function importRecords(options: ImportOptions): Promise<ImportProgress> {
  const { url, writeKey, source, afterLine, io, onProgress, onRetry } = options;
  const rejects = rejectWriter(options.rejectFile);
  const slots = semaphore(IN_FLIGHT);
  let progress: ImportProgress = { line: afterLine, accepted: 0, duplicates: 0, rejected: 0, rejectBytes: 0 };
  let failure: unknown;
  /** Batches end in any order; what they did is counted in the order of the file, so `line` is never ahead of the truth. */
  let counted: Promise<void> = Promise.resolve();

  const sendBatch = async (batch: Batch): Promise<() => Promise<void>> => {
    const answer =
      batch.messages.length === 0
        ? { accepted: 0, duplicates: 0, rejected: [] }
        : await postBatch({
            url,
            writeKey,
            batch: batch.messages.map(({ json }) => json),
            path: "import",
            io,
            onRetry,
          });
    return async () => {
      const refused = (answer.rejected ?? []).map(({ index, code, message }) =>
        rejectOf(batch.messages[index], { code, path: "", message }),
      );
      const lines = [...batch.rejects.map(({ line, raw, issues }) => ({ line, issues, raw })), ...refused];
      await rejects.write(lines);
      progress = {
        line: batch.line,
        accepted: progress.accepted + answer.accepted,
        duplicates: progress.duplicates + (answer.duplicates ?? 0),
        rejected: progress.rejected + lines.length,
        rejectBytes: rejects.bytes(),
      };
      await onProgress(progress);
    };
  };

  try {
    for await (const batch of batches(source, afterLine)) {
      const release = await slots.acquire();
      if (failure !== undefined || io.interrupted.aborted) {
        release();
        break;
      }
      const done = sendBatch(batch);
      done.finally(release).catch(() => {});
      counted = counted.then(async () => {
        if (failure !== undefined) return;
        try {
          await (await done)();
        } catch (error) {
          failure = error;
        }
      });
    }
    await counted;
  } finally {
    source.close();
    await rejects.close();
  }
  if (failure !== undefined && !io.interrupted.aborted) throw failure;
  return progress;
}

async function* batches({ records }: RecordSource, afterLine: number): AsyncGenerator<Batch> {
  let messages: Sendable[] = [];
  let rejects: Batch["rejects"][number][] = [];
  let bytes = 0;
  let line = afterLine;
  for await (const record of records) {
    if (record.line <= afterLine) continue;
    const prepared = prepareMessage(record);
    const size = prepared.ok ? Buffer.byteLength(prepared.json) + 1 : 0;
    if (bytes + size > BYTES_A_BATCH || messages.length + rejects.length >= MESSAGES_A_BATCH) {
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

function rejectOf(
  message: Sendable | undefined,
  issue: RejectIssue,
): { line: number; issues: readonly RejectIssue[]; raw: string } {
  return { line: message?.line ?? 0, issues: [issue], raw: message?.json ?? "" };
}

/** Appends refused records as JSON lines `{line, issues, raw}`. */
function rejectWriter(path: string) {
  let file: Awaited<ReturnType<typeof open>> | undefined;
  let bytes = 0;
  return {
    bytes: () => bytes,
    async write(rejects: readonly object[]): Promise<void> {
      if (rejects.length === 0) return;
      file ??= await open(path, "a", 0o600);
      if (bytes === 0) bytes = (await file.stat()).size;
      const text = rejects.map((reject) => `${JSON.stringify(reject)}\n`).join("");
      await file.appendFile(text);
      bytes += Buffer.byteLength(text);
    },
    async close(): Promise<void> {
      await file?.close();
    },
  };
}
