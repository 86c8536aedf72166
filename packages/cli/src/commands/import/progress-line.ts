import type { Io } from "../../terminal/io.js";

const BAR_WIDTH = 24;
const UPDATE_EVERY_MS = 100;

export interface Progress {
  readonly done: number;
  /** The fraction of the file that was read, 0 to 1; undefined if its size is unknown. */
  readonly share: number | undefined;
  /** Messages per second since the start. */
  readonly rate: number;
  /** Estimated milliseconds that remain; undefined while unknown. */
  readonly etaMs: number | undefined;
}

/** A line on stderr that is updated in place. Prints nothing if stderr is not a terminal. */
export function progressLine(io: Io): { show(progress: Progress): void; end(): void } {
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
