import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { Client } from "pg";

/** Where PostgreSQL's programs are: those of Debian are not in the path. */
function programs(): string | undefined {
  const inPath = (process.env.PATH ?? "")
    .split(delimiter)
    .find((folder) => existsSync(join(folder, "initdb")));
  const debian = globSync("/usr/lib/postgresql/*/bin/initdb").sort().at(-1);
  return debian === undefined ? inPath : dirname(debian);
}

export const IS_INSTALLED = programs() !== undefined;

export const PASSWORD = "correct horse";
const CERTIFICATES = join(import.meta.dirname, "../../../apps/collector/test/sender/fixtures");
/** `postgres` does not run as root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

export interface PostgresServer {
  readonly port: number;
  /** Runs a statement as the superuser. */
  query(
    text: string,
    values?: readonly unknown[],
  ): Promise<readonly { readonly [column: string]: unknown }[]>;
  /** As when the machine loses power. */
  kill(): Promise<void>;
  start(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A real server in a folder of its own, with TLS and passwords. */
export async function postgresServer(): Promise<PostgresServer> {
  const bin = programs() ?? "";
  const folder = mkdtempSync(join(tmpdir(), "sluice-postgres-"));
  const data = join(folder, "data");
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, PASSWORD);
  for (const name of ["valid.pem", "valid.key"]) {
    copyFileSync(join(CERTIFICATES, name), join(folder, name));
    chmodSync(join(folder, name), 0o600);
  }
  if (NOBODY.uid !== undefined)
    for (const path of ["", "password", "valid.pem", "valid.key"])
      chownSync(join(folder, path), NOBODY.uid, NOBODY.gid);
  const made = spawnSync(
    join(bin, "initdb"),
    [
      "-D",
      data,
      "-U",
      "postgres",
      "-A",
      "scram-sha-256",
      "--pwfile",
      passwordFile,
      "-E",
      "UTF8",
      "--no-sync",
    ],
    { ...NOBODY, encoding: "utf8", cwd: folder },
  );
  if (made.status !== 0) throw new Error(`initdb: ${made.stdout}${made.stderr}`);
  const port = await freePort();
  let server: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const options = {
      unix_socket_directories: folder,
      listen_addresses: "127.0.0.1",
      ssl: "on",
      ssl_cert_file: join(folder, "valid.pem"),
      ssl_key_file: join(folder, "valid.key"),
    };
    const args = Object.entries(options).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = spawn(join(bin, "postgres"), ["-D", data, "-p", String(port), ...args], {
      ...NOBODY,
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    server = child;
    let said = "";
    for await (const text of child.stderr) {
      said += text;
      if (said.includes("ready to accept connections")) break;
    }
    if (child.exitCode !== null) throw new Error(`postgres: ${said}`);
    child.stderr.destroy();
  };
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill(signal);
    await ended;
  };
  await start();
  return {
    port,
    start,
    async query(text, values = []) {
      const client = new Client({
        host: "127.0.0.1",
        port,
        user: "postgres",
        password: PASSWORD,
        database: "postgres",
      });
      await client.connect();
      try {
        return (await client.query(text, [...values])).rows;
      } finally {
        await client.end();
      }
    },
    // Immediate: no checkpoint, and all connections are cut. It recovers at the next start.
    kill: () => stop("SIGQUIT"),
    async [Symbol.asyncDispose]() {
      await stop("SIGQUIT");
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
