import { isSea } from "node:sea";
import type { Readable } from "node:stream";
import { invocationOf } from "./invocation.js";
import { type Style, styleFor } from "./style.js";

/** Everything a command uses of its environment: streams, variables, time. Tests pass their own. */
export interface Io {
  /** Prints the command's result. Resolves when the stream can take more. */
  out(text: string): Promise<void>;
  /** Prints bytes as they are. Resolves when the stream can take more. */
  outBytes(bytes: Uint8Array): Promise<void>;
  /** Prints everything else: progress, warnings, errors. */
  err(text: string): void;
  readonly stdin: Readable;
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
  /** How to type `sluice` so that this program runs: see `invocationOf`. */
  readonly invocation: string;
  readonly style: Style;
  readonly errStyle: Style;
  /** Whether stderr is a terminal. Progress bars are only shown there. */
  readonly isErrTerminal: boolean;
  /** Whether stdin and stderr are a terminal, so that questions can be asked. */
  readonly canAsk: boolean;
  /** Width of the terminal in characters. Default: 80. */
  readonly columns: number;
  /** Into how many columns the rows of a table must fit: without end where stdout is no terminal. */
  readonly tableColumns: number;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds of a clock that is never set back, for measuring durations. */
  monotonic(): number;
  /** Aborts on Ctrl-C, SIGTERM and SIGHUP. */
  readonly interrupted: AbortSignal;
}

/** The `Io` of this process. */
export function processIo(): Io {
  const controller = new AbortController();
  // A second signal finds no listener and ends the process at once.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => controller.abort(new Error(signal)));
  // The reader has closed the pipe, as in `sluice tail | head`.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  return {
    out: written,
    outBytes: written,
    err: (text) => void process.stderr.write(text),
    stdin: process.stdin,
    env: process.env,
    cwd: process.cwd(),
    invocation: invocationOf({
      env: process.env,
      script: process.argv[1],
      executable: isSea() ? process.execPath : undefined,
    }),
    style: styleFor(process.env, process.stdout.isTTY === true),
    errStyle: styleFor(process.env, process.stderr.isTTY === true),
    isErrTerminal: process.stderr.isTTY === true,
    canAsk: process.stdin.isTTY === true && process.stderr.isTTY === true,
    columns: process.stdout.columns ?? process.stderr.columns ?? 80,
    tableColumns: process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY,
    now: () => Date.now(),
    monotonic: () => performance.now(),
    interrupted: controller.signal,
  };
}

function written(text: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (process.stdout.write(text)) resolve();
    else process.stdout.once("drain", resolve);
  });
}
