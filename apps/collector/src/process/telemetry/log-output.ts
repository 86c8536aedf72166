import type { LogFormat, LoggerOptions } from "./logger.js";

/** What is known of the stream that logs are written to. */
export interface LogStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** How logs are written to a stream: `auto` is text for people on a terminal, and JSON elsewhere. Only a terminal gets colours. */
export function logOutput(
  format: LogFormat | "auto",
  { isTTY = false, columns }: LogStream,
  env: { readonly [name: string]: string | undefined },
): Required<Pick<LoggerOptions, "format" | "terminal">> {
  const isPlain = (env.NO_COLOR !== undefined && env.NO_COLOR !== "") || env.TERM === "dumb";
  return {
    format: format === "auto" ? (isTTY ? "pretty" : "json") : format,
    terminal: { hasColors: isTTY && !isPlain, ...(isTTY && columns ? { columns } : {}) },
  };
}
