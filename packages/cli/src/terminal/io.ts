import { realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { isSea } from "node:sea";
import type { Readable } from "node:stream";
import { type Style, shellWord, styleFor } from "./style.js";

/** What is known of how the process was started. */
interface Start {
  readonly env: { readonly [name: string]: string | undefined };
  /** The path of the script, as in `process.argv[1]`. */
  readonly script: string | undefined;
  /** The path of the single executable; undefined if Node.js runs the script. */
  readonly executable?: string | undefined;
  /** Resolves symbolic links. Throws for a missing file. */
  readonly realPath?: (path: string) => string;
}

/**
 * How to type `sluice` so that this program runs again: `sluice` if the shell finds it by that name, otherwise through the package
 * manager that started it, or by its path. Never by a name that would be looked up on a registry.
 */
export function invocationOf({ env, script, executable, realPath = realpathSync }: Start): string {
  const manager = env.npm_config_user_agent?.split("/")[0] ?? "";
  const isStartedByManager = env.npm_command !== undefined || env.npm_lifecycle_event !== undefined;
  if (executable === undefined && (isStartedByManager || manager === "bun"))
    return RUNNERS[manager] ?? "npx sluice";
  const own = pathOf(executable ?? script ?? "", realPath);
  if (own === undefined) return "npx sluice";
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const found = folders.flatMap((folder) => pathOf(join(folder, "sluice"), realPath) ?? [])[0];
  if (found === own) return "sluice";
  return executable === undefined ? `node ${shellWord(own)}` : shellWord(own);
}

const RUNNERS: { readonly [manager: string]: string } = {
  pnpm: "pnpm exec sluice",
  yarn: "yarn sluice",
  bun: "bunx sluice",
};

function pathOf(path: string, realPath: (path: string) => string): string | undefined {
  try {
    return realPath(path);
  } catch {
    return undefined;
  }
}

/** Our texts say `npx sluice`; this says it as the user started it, except in the body of a shell function. Not for text from events. */
export function asStarted(text: string, { invocation }: { readonly invocation: string }): string {
  return invocation === "npx sluice" ? text : text.replace(/(?<!\{ )npx sluice/g, () => invocation);
}

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

/** Resolves when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
