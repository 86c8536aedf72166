import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { AwsV4Signer } from "aws4fetch";
// @boundaries-ignore the servers are for tests of all packages
import { kill } from "../../../test/destinations/kill.ts";

export const VERSITYGW_VERSION = "1.8.0";
/** Where `npm run versitygw:install` puts it. */
export const CACHED_SERVER: string = join(
  homedir(),
  ".cache",
  "sluice",
  `versitygw-${VERSITYGW_VERSION}`,
  "versitygw",
);
export const IS_INSTALLED: boolean = existsSync(CACHED_SERVER);

export interface S3Server {
  readonly endpoint: string;
  readonly keys: Keys;
  /** Keys that may do nothing. */
  readonly powerless: Keys;
  createBucket(bucket: string): Promise<void>;
  /** With all its objects. */
  removeBucket(bucket: string): void;
  /** The objects of a bucket, by their keys. */
  objects(bucket: string): ReadonlyMap<string, Buffer>;
  /** SIGKILL. It keeps what it has confirmed. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** It answers nothing until `resume`. */
  pause(): void;
  resume(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const KEYS: Keys = { accessKeyId: "AKIAWRITER", secretAccessKey: "correct-horse-battery" };
const POWERLESS: Keys = { accessKeyId: "AKIAPOWERLESS", secretAccessKey: "powerless-horse" };

/** A real server that checks keys, signatures and permissions. Its objects are files in a folder of its own. */
export async function s3Server(): Promise<S3Server> {
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const folder = mkdtempSync(join(tmpdir(), "sluice-s3-"));
  const [users, buckets] = ["users", "buckets"].map((name) => join(folder, name)) as [string, string];
  for (const each of [users, buckets]) mkdirSync(each);
  const signIn = ["--access", KEYS.accessKeyId, "--secret", KEYS.secretAccessKey];
  let server: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const options = ["--port", `127.0.0.1:${port}`, "--iam-dir", users, "--keep-alive", "--quiet"];
    server = spawn(CACHED_SERVER, [...signIn, ...options, "posix", buckets], { stdio: "ignore" });
    const ended = once(server, "exit").then(() => Promise.reject(new Error("versitygw does not start")));
    const answers = (): Promise<boolean> =>
      fetch(endpoint).then(
        () => true,
        () => false,
      );
    while (!(await Promise.race([answers(), ended])));
    ended.catch(() => {});
  };
  await start();
  const { accessKeyId, secretAccessKey } = POWERLESS;
  const user = ["--access", accessKeyId, "--secret", secretAccessKey, "--role", "user"];
  execFileSync(CACHED_SERVER, ["admin", ...signIn, "--endpoint-url", endpoint, "create-user", ...user]);
  return {
    endpoint,
    keys: KEYS,
    powerless: POWERLESS,
    async createBucket(bucket) {
      const to = { method: "PUT", url: `${endpoint}/${bucket}`, service: "s3", region: "us-east-1" };
      const { url, headers } = await new AwsV4Signer({ ...to, ...KEYS }).sign();
      const response = await fetch(url, { method: "PUT", headers });
      if (!response.ok) throw new Error(`${bucket}: ${response.status} ${await response.text()}`);
    },
    removeBucket: (bucket) => rmSync(join(buckets, bucket), { recursive: true }),
    objects(bucket) {
      const files = globSync("*/**/*.{jsonl,gz,zst,parquet}", { cwd: join(buckets, bucket) }).sort();
      return new Map(files.map((key) => [key, readFileSync(join(buckets, bucket, key))]));
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

/** What a proxy does with a request: pass it on, lose the answer after it was passed on or never give it, or answer itself. */
export type Fault = "pass" | "lose_answer" | "hold_answer" | ((response: ServerResponse) => void);

/** Stands before a server, and disturbs it as a test says. */
export async function faultyProxy(
  target: string,
  next: () => Fault,
): Promise<{ readonly endpoint: string; close(): void }> {
  const { hostname, port } = new URL(target);
  const proxy = createServer((incoming, outgoing) => {
    const fault = next();
    if (typeof fault === "function") {
      incoming.resume().once("end", () => fault(outgoing));
      return;
    }
    const { method = "GET", url = "/", headers } = incoming;
    const passed = request({ hostname, port, method, path: url, headers }, (response) => {
      if (fault === "hold_answer") return void response.resume();
      if (fault === "lose_answer") response.resume().once("end", () => incoming.socket.destroy());
      else response.pipe(outgoing.writeHead(response.statusCode ?? 500, response.headers));
    });
    passed.once("error", () => incoming.socket.destroy());
    incoming.pipe(passed);
  });
  proxy.listen(await freePort(), "127.0.0.1");
  await once(proxy, "listening");
  // The host that was signed has to arrive.
  return {
    endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    close() {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const free = createTcpServer().listen(0, "127.0.0.1", () => {
      const { port } = free.address() as AddressInfo;
      free.close(() => resolve(port));
    });
  });
}
