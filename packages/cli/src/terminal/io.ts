import type { Readable } from "node:stream";
import { type Style, styleFor } from "./style.js";

/** What a command has of the world around it. */
export interface Io {
  /** The command's result. Resolves when a slow reader has room again. */
  out(text: string): Promise<void>;
  /** Everything that is not the result: progress, warnings, errors. */
  err(text: string): void;
  readonly stdin: Readable;
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
  readonly style: Style;
  readonly errStyle: Style;
  /** Whether a person watches stderr: progress bars are for them. */
  readonly isWatched: boolean;
  /** Whether a person can answer a question: stdin and stderr are a terminal. */
  readonly canAsk: boolean;
  /** Columns of the terminal. Default: 80. */
  readonly columns: number;
  /** Wall time, in milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that have passed, whatever the machine's clock is set to: what durations are measured by. */
  monotonic(): number;
  /** Aborts when the user presses Ctrl-C, or the process is asked to end. */
  readonly interrupted: AbortSignal;
}

/** The process's own streams. */
export function processIo(): Io {
  const controller = new AbortController();
  // The second one finds no listener and ends the process at once.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => controller.abort(new Error(signal)));
  // `sluice tail | head`: the reader is gone, and so is the reason to go on.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  return {
    out: (text) =>
      new Promise((resolve) => {
        if (process.stdout.write(text)) resolve();
        else process.stdout.once("drain", resolve);
      }),
    err: (text) => void process.stderr.write(text),
    stdin: process.stdin,
    env: process.env,
    cwd: process.cwd(),
    style: styleFor(process.env, process.stdout.isTTY === true),
    errStyle: styleFor(process.env, process.stderr.isTTY === true),
    isWatched: process.stderr.isTTY === true,
    canAsk: process.stdin.isTTY === true && process.stderr.isTTY === true,
    columns: process.stdout.columns ?? process.stderr.columns ?? 80,
    now: () => Date.now(),
    monotonic: () => performance.now(),
    interrupted: controller.signal,
  };
}
