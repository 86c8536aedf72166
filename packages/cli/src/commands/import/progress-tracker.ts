import { stat } from "node:fs/promises";
import type { Io } from "../../terminal/io.js";
import { terminalText } from "../../terminal/terminal-text.js";
import { type Checkpoint, writeCheckpoint } from "./checkpoint.js";
import type { ImportProgress } from "./import-records.js";

import type { RecordSource } from "./reading/read-records.js";

const BAR_WIDTH = 24;
const UPDATE_EVERY_MS = 100;

interface Progress {
  readonly done: number;
  /** The fraction of the file that was read, 0 to 1; undefined if its size is unknown. */
  readonly share: number | undefined;
  /** Messages per second since the start. */
  readonly rate: number;
  /** Estimated milliseconds that remain; undefined while unknown. */
  readonly etaMs: number | undefined;
}

/** A line on stderr that is updated in place. Prints nothing if stderr is not a terminal. */
function progressLine(io: Io): { show(progress: Progress): void; end(): void } {
  let shownAtMs = Number.NEGATIVE_INFINITY;
  let isShown = false;
  return {
    show(progress) {
      if (!io.isErrTerminal || io.monotonic() - shownAtMs < UPDATE_EVERY_MS) return;
      shownAtMs = io.monotonic();
      isShown = true;
      io.err(`\r${progressText(progress)}\u001b[K`);
    },
    end() {
      if (isShown) io.err("\n");
      isShown = false;
    },
  };
}

export function progressText({ done, share, rate, etaMs }: Progress): string {
  const counts = `${done.toLocaleString("en")} messages  ${Math.round(rate).toLocaleString("en")}/s`;
  if (share === undefined) return counts;
  const filled = Math.round(Math.min(1, share) * BAR_WIDTH);
  const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
  const eta = etaMs === undefined ? "" : `  ${duration(etaMs)} left`;
  return `${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${counts}${eta}`;
}

function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

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
