/** How often one line may be written in a window. */
const MOST_LINES = 10;
const WINDOW_MS = 10_000;
/** Texts of lines are constants of the code. This only keeps a mistake from filling memory. */
const MOST_TEXTS = 1_000;

interface Window {
  readonly fromMs: number;
  lines: number;
}

/**
 * Whether a warning or an error is written: a loop that fails must not fill the disk with its lines. Returns the number of lines with
 * this text that were withheld since the last one that was written, or undefined if this one is to be withheld.
 */
export type RepeatedLines = (text: string, nowMs: number) => number | undefined;

export function repeatedLines(): RepeatedLines {
  const windows = new Map<string, Window>();
  return (text, nowMs) => {
    const window = windows.get(text);
    // A clock that was set back begins a new one too.
    const isOver = window === undefined || nowMs - window.fromMs >= WINDOW_MS || nowMs < window.fromMs;
    if (isOver) {
      if (windows.size >= MOST_TEXTS) windows.clear();
      windows.set(text, { fromMs: nowMs, lines: 1 });
      return Math.max(0, (window?.lines ?? 0) - MOST_LINES);
    }
    window.lines += 1;
    return window.lines > MOST_LINES ? undefined : 0;
  };
}
