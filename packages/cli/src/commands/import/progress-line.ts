import type { Io } from "../../terminal/io.js";

const BAR = 24;
const EVERY_MS = 100;

export interface Progress {
  readonly done: number;
  /** Share of the file, 0 to 1; undefined where its size is not known. */
  readonly share: number | undefined;
  /** Messages a second since it began. */
  readonly rate: number;
  /** Milliseconds that are left; undefined while that is not known. */
  readonly etaMs: number | undefined;
}

/** A line on stderr that is written over, where somebody watches; nothing elsewhere. */
export function progressLine(io: Io): { show(progress: Progress): void; end(): void } {
  let shownAtMs = Number.NEGATIVE_INFINITY;
  let isShown = false;
  return {
    show(progress) {
      if (!io.isWatched || io.monotonic() - shownAtMs < EVERY_MS) return;
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
  const filled = Math.round(Math.min(1, share) * BAR);
  const bar = "█".repeat(filled) + "░".repeat(BAR - filled);
  const eta = etaMs === undefined ? "" : `  ${duration(etaMs)} left`;
  return `${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${counts}${eta}`;
}

function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}
