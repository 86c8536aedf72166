import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { createLogger, startCollector } from "@sluice/collector";
import { run } from "../../src/run.js";
import type { Io } from "../../src/terminal/io.js";
import { PLAIN } from "../../src/terminal/style.js";

export interface CliRun {
  readonly code: Promise<number>;
  out(): string;
  err(): string;
  /** What was printed as bytes. */
  bytes(): Buffer;
  /** Has the effect of Ctrl-C. */
  interrupt(): void;
  /** Resolves when the output so far matches. */
  printed(pattern: RegExp): Promise<void>;
}

/** Runs a command line in this process, with its own streams and environment. */
export function cli(
  args: readonly string[],
  {
    env = {},
    cwd = tmpdir(),
    stdin = "",
    canAsk = false,
    columns = 100,
    invocation = "npx sluice",
  }: {
    env?: Record<string, string>;
    cwd?: string;
    stdin?: string | Uint8Array;
    canAsk?: boolean;
    columns?: number;
    invocation?: string;
  } = {},
): CliRun {
  let out = "";
  let err = "";
  const bytes: Uint8Array[] = [];
  const waiting = new Set<() => void>();
  const interrupted = new AbortController();
  const tell = (): void => {
    for (const look of waiting) look();
  };
  const io: Io = {
    async out(text) {
      out += text;
      tell();
    },
    async outBytes(part) {
      bytes.push(part.slice());
    },
    err(text) {
      err += text;
      tell();
    },
    stdin: Readable.from(stdin === "" ? [] : [Buffer.from(stdin)]),
    env,
    cwd,
    invocation,
    style: PLAIN,
    errStyle: PLAIN,
    isErrTerminal: false,
    canAsk,
    columns,
    tableColumns: Number.POSITIVE_INFINITY,
    now: () => Date.now(),
    monotonic: () => performance.now(),
    interrupted: interrupted.signal,
  };
  return {
    code: run(args, io),
    out: () => out,
    err: () => err,
    bytes: () => Buffer.concat(bytes),
    interrupt: () => interrupted.abort(new Error("SIGINT")),
    printed: (pattern) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!pattern.test(out + err)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}

/** A collector in dev mode, and what a command line needs to connect to it. */
export async function collectorForCli() {
  const directory = await mkdtemp(join(tmpdir(), "sluice-cli-"));
  const collector = await startCollector({
    mode: "dev",
    host: "127.0.0.1",
    port: 0,
    dataDirectory: join(directory, ".sluice"),
    logger: createLogger({ write() {} }),
    allowTargets: ["127.0.0.0/8", "localhost"],
  });
  const { firstRun } = collector;
  if (firstRun === undefined) throw new Error("dev mode creates a first source");
  const env = {
    SLUICE_URL: collector.url,
    SLUICE_TOKEN: firstRun.adminToken,
    SLUICE_WRITE_KEY: firstRun.writeKey,
  };
  return {
    directory,
    url: collector.url,
    ...firstRun,
    env,
    /** Runs a command to its end. Rejects if its exit code is not `expected`. */
    async sluice(args: readonly string[], expected = 0): Promise<{ out: string; err: string }> {
      const running = cli(args, { env, cwd: directory });
      const code = await running.code;
      if (code !== expected)
        throw new Error(`sluice ${args.join(" ")} ended with ${code}\n${running.out()}${running.err()}`);
      return { out: running.out(), err: running.err() };
    },
    start: (args: readonly string[], stdin = "") => cli(args, { env, cwd: directory, stdin }),
    async [Symbol.asyncDispose]() {
      await collector.close(1_000);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A webhook receiver that stores the requests it gets. */
export async function receiver(status: number | (() => number) = 200) {
  const received: { headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      const code = typeof status === "number" ? status : status();
      response.writeHead(code).end(`answered ${code}`);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    received,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
