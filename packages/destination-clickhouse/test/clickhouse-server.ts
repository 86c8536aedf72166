import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
// @boundaries-ignore the servers are for tests of all packages
import { kill } from "../../../test/destinations/kill.ts";

export const CHDB_VERSION = "4.4.0";
/** Where `npm run chdb:install` puts it. */
const FOLDER = join(homedir(), ".cache", "sluice", `chdb-${CHDB_VERSION}`);
export const CACHED_PYTHON: string = join(FOLDER, "bin/python");
export const IS_INSTALLED: boolean = existsSync(CACHED_PYTHON);

export const PASSWORD = "correct horse";

export interface ClickHouseServer {
  readonly url: string;
  query(statement: string): Promise<readonly { readonly [column: string]: unknown }[]>;
  /** SIGKILL. It keeps what it has confirmed. */
  kill(): Promise<void>;
  start(): Promise<void>;
  pause(): void;
  resume(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** ClickHouse's engine behind HTTP, in a folder of its own. */
export async function clickHouseServer(): Promise<ClickHouseServer> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "sluice-clickhouse-"));
  const script = join(import.meta.dirname, "server.py");
  let server: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const child = spawn(CACHED_PYTHON, [script, String(port), PASSWORD, folder], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    server = child;
    await once(child.stdout, "data");
  };
  await start();
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    async query(statement) {
      const response = await fetch(url, {
        method: "POST",
        headers: { "x-clickhouse-key": PASSWORD },
        body: statement,
      });
      const text = await response.text();
      if (!response.ok) throw new Error(text);
      return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
    },
    kill: () => kill(server),
    start,
    pause: () => void server?.kill("SIGSTOP"),
    resume: () => void server?.kill("SIGCONT"),
    async [Symbol.asyncDispose]() {
      await kill(server);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const free = createServer().listen(0, "127.0.0.1", () => {
      const { port } = free.address() as { port: number };
      free.close(() => resolve(port));
    });
  });
}
