import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../apps/collector/dist/main.js", import.meta.url));

export interface CollectorProcess {
  readonly node: string;
  readonly port: number;
  readonly pid: number | undefined;
  /** Resolves when it answers requests. */
  start(): Promise<void>;
  /** Resolves with how it ended. */
  ended(): Promise<string>;
  stop(): Promise<void>;
}

interface Options {
  readonly node: string;
  /** For its data and its log. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

async function isListening(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/livez`).then(
    () => true,
    () => false,
  );
}

/** A built collector in a process of its own. It logs into a file in its folder, and keeps its port while this process runs. */
export function collectorProcess({ node, directory, env }: Options): CollectorProcess {
  let child: ChildProcess | undefined;
  let port = 0;
  let ended: Promise<string> = Promise.resolve("not started");
  const logFile = join(directory, "log");
  return {
    node,
    get port() {
      return port;
    },
    get pid() {
      return child?.pid;
    },
    async start() {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      port ||= await freePort();
      const log = openSync(logFile, "a", 0o600);
      const started = spawn(process.execPath, ["--max-semi-space-size=32", MAIN], {
        env: { ...process.env, ...env, SLUICE_PORT: String(port), SLUICE_DATA_DIR: join(directory, "data") },
        stdio: ["ignore", log, log],
      });
      child = started;
      ended = once(started, "exit").then(([code, signal]) => {
        child = undefined;
        return signal ?? `code ${code}`;
      });
      while (!(await isListening(port))) {
        if (child !== started)
          throw new Error(`collector ${node} ended:\n${readFileSync(logFile, "utf8").slice(-2_000)}`);
        await new Promise((done) => setTimeout(done, 50));
      }
    },
    ended: () => ended,
    async stop() {
      child?.kill("SIGTERM");
      await ended;
    },
  };
}
