import { stat } from "node:fs/promises";
import type { Io } from "../../terminal/io.js";
import { terminalText } from "../../terminal/terminal-text.js";
import { type Checkpoint, writeCheckpoint } from "./checkpoint.js";
import type { ImportProgress } from "./import-records.js";
import { progressLine } from "./progress-line.js";
import type { RecordSource } from "./reading/read-records.js";

/** The file to import. It has no size and no checkpoint if it is stdin. */
export interface Input {
  readonly path: string;
  readonly isStdin: boolean;
  readonly size: number | undefined;
  readonly rejectPath: string;
}

/** What an earlier run did, and what was chosen for this one. */
export interface Continued {
  readonly earlier: Checkpoint | undefined;
  readonly deliver: boolean;
}

const CHECKPOINT_EVERY_MS = 1_000;

/** Shows the progress and saves it in the checkpoint. */
export interface ProgressTracker {
  readonly onProgress: (progress: ImportProgress) => Promise<void>;
  save(progress: ImportProgress): Promise<void>;
  /** Ends the progress line. */
  end(): void;
  /** Saves how far a failed import got, and prints it. */
  stop(): Promise<void>;
}

export function progressTracker(
  { path, isStdin, size }: Input,
  source: RecordSource,
  { earlier, deliver }: Continued,
  io: Io,
): ProgressTracker {
  const line = progressLine(io);
  const startMs = io.monotonic();
  let savedAtMs = startMs;
  let latest: ImportProgress | undefined;
  const save = async (progress: ImportProgress): Promise<void> => {
    if (isStdin) return;
    savedAtMs = io.monotonic();
    await writeCheckpoint(path, checkpointOf(progress, { earlier, deliver }, await stat(path)));
  };
  return {
    save,
    end: () => line.end(),
    async onProgress(progress) {
      latest = progress;
      const elapsedMs = io.monotonic() - startMs;
      const done = progress.accepted + progress.rejected;
      const share = size === undefined || size === 0 ? undefined : source.bytesRead() / size;
      line.show({
        done,
        share,
        rate: perSecond(done, elapsedMs / 1_000),
        etaMs: share === undefined || share === 0 ? undefined : (elapsedMs / share) * (1 - share),
      });
      if (io.monotonic() - savedAtMs >= CHECKPOINT_EVERY_MS) await save(progress);
    },
    async stop() {
      line.end();
      if (latest === undefined || isStdin) return;
      await save(latest);
      const { accepted } = addUp(latest, earlier);
      io.err(
        `stopped after line ${latest.line}; ${accepted} messages were accepted. Run the same command again to continue\n`,
      );
    },
  };
}

/** Prints why a request is retried. Without a terminal, only the first time. */
export function retryReporter(io: Io): (reason: string) => void {
  let isReported = false;
  return (reason) => {
    if (!io.isErrTerminal && isReported) return;
    isReported = true;
    io.err(`${io.isErrTerminal ? "\n" : ""}${io.errStyle.yellow(terminalText(reason))}; retrying\n`);
  };
}

export function perSecond(count: number, seconds: number): number {
  return count / Math.max(0.001, seconds);
}

/** The counts of this run and the earlier ones. */
export function addUp(progress: ImportProgress, earlier: Checkpoint | undefined) {
  return {
    accepted: progress.accepted + (earlier?.accepted ?? 0),
    duplicates: progress.duplicates + (earlier?.duplicates ?? 0),
    rejected: progress.rejected + (earlier?.rejected ?? 0),
    notes: sumOf(progress.notes, earlier?.notes ?? {}),
  };
}

function checkpointOf(
  progress: ImportProgress,
  { earlier, deliver }: Continued,
  { size, mtimeMs }: { readonly size: number; readonly mtimeMs: number },
): Checkpoint {
  return {
    line: progress.line,
    ...addUp(progress, earlier),
    rejectBytes: progress.rejectBytes === 0 ? (earlier?.rejectBytes ?? 0) : progress.rejectBytes,
    deliver,
    size,
    modifiedMs: mtimeMs,
  };
}

function sumOf(one: ImportProgress["notes"], other: ImportProgress["notes"]): ImportProgress["notes"] {
  const codes = [...new Set([...Object.keys(other), ...Object.keys(one)])];
  return Object.fromEntries(codes.map((code) => [code, (one[code] ?? 0) + (other[code] ?? 0)]));
}
