import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { AwsV4Signer } from "aws4fetch";

export const MOTO_VERSION = "5.2.5";
/** Where `npm run moto:install` puts it. */
export const CACHED_SERVER: string = join(
  homedir(),
  ".cache",
  "sluice",
  `moto-${MOTO_VERSION}`,
  "bin/moto_server",
);
export const IS_INSTALLED: boolean = existsSync(CACHED_SERVER);

export interface S3Server {
  readonly endpoint: string;
  readonly keys: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Keys that may do nothing. */
  readonly powerless: { readonly accessKeyId: string; readonly secretAccessKey: string };
  createBucket(bucket: string): Promise<void>;
  /** With all its objects. */
  removeBucket(bucket: string): Promise<void>;
  /** The objects of a bucket, by their keys. */
  objects(bucket: string): Promise<ReadonlyMap<string, Buffer>>;
  /** SIGKILL. Its users keep their keys, and its objects are lost. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** It answers nothing until `resume`. */
  pause(): void;
  resume(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

type Keys = S3Server["keys"];

/** A real server that checks keys, signatures and policies. Its objects are in memory. */
export async function s3Server(): Promise<S3Server> {
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  // The seed, users, their keys and the policy are made without a signature. Afterwards, everything needs one.
  const unsigned = 5;
  let server: ChildProcess | undefined;
  const run = async (): Promise<void> => {
    const child = spawn(CACHED_SERVER, ["-H", "127.0.0.1", "-p", String(port)], {
      env: { ...process.env, INITIAL_NO_AUTH_ACTION_COUNT: String(unsigned) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    server = child;
    let said = "";
    for await (const text of child.stderr) {
      said += text;
      if (said.includes("Running on")) break;
    }
    child.stderr.resume();
    // So the keys are the same after each start.
    await fetch(`${endpoint}/moto-api/seed?a=42`, { method: "POST" });
  };
  const iam = async (fields: { readonly [name: string]: string }): Promise<string> => {
    const scope = "Credential=x/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=0";
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { Authorization: `AWS4-HMAC-SHA256 ${scope}` },
      body: new URLSearchParams({ Version: "2010-05-08", ...fields }),
    });
    return response.text();
  };
  const newUser = async (UserName: string): Promise<Keys> => {
    await iam({ Action: "CreateUser", UserName });
    const made = await iam({ Action: "CreateAccessKey", UserName });
    const [accessKeyId = "", secretAccessKey = ""] = ["AccessKeyId", "SecretAccessKey"].map(
      (name) => new RegExp(`<${name}>(.*)</${name}>`).exec(made)?.[1],
    );
    return { accessKeyId, secretAccessKey };
  };
  const start = async () => {
    await run();
    const writer = await newUser("writer");
    const statement = { Effect: "Allow", Action: "s3:*", Resource: "*" };
    const PolicyDocument = JSON.stringify({ Version: "2012-10-17", Statement: [statement] });
    await iam({ Action: "PutUserPolicy", UserName: "writer", PolicyName: "all", PolicyDocument });
    return { keys: writer, powerless: await newUser("powerless") };
  };
  const kill = async (): Promise<void> => {
    if (server === undefined) return;
    server.kill("SIGCONT");
    const ended = once(server, "exit");
    server.kill("SIGKILL");
    await ended;
    server = undefined;
  };
  const { keys, powerless } = await start();

  const call = async (method: string, path: string): Promise<Response> => {
    const signer = new AwsV4Signer({
      method,
      url: `${endpoint}/${path}`,
      service: "s3",
      region: "us-east-1",
      ...keys,
    });
    const { url, headers } = await signer.sign();
    const response = await fetch(url, { method, headers });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  const list = async (bucket: string): Promise<readonly string[]> => {
    const listed = await (await call("GET", `${bucket}?list-type=2`)).text();
    return [...listed.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key]) => String(key));
  };
  return {
    endpoint,
    keys,
    powerless,
    async createBucket(bucket) {
      await call("PUT", bucket);
    },
    async removeBucket(bucket) {
      for (const key of await list(bucket)) await call("DELETE", `${bucket}/${encoded(key)}`);
      await call("DELETE", bucket);
    },
    async objects(bucket) {
      const found = new Map<string, Buffer>();
      for (const key of await list(bucket)) {
        const response = await call("GET", `${bucket}/${encoded(key)}`);
        found.set(key, Buffer.from(await response.arrayBuffer()));
      }
      return found;
    },
    kill,
    async start() {
      await start();
    },
    pause: () => void server?.kill("SIGSTOP"),
    resume: () => void server?.kill("SIGCONT"),
    [Symbol.asyncDispose]: kill,
  };
}

/** What a proxy does with a request: pass it on, lose the answer after it was passed on or never give it, or answer itself. */
export type Fault = "pass" | "lose_answer" | "hold_answer" | ((response: ServerResponse) => void);

/** Stands before a server, and disturbs it as a test says. */
export async function faultyProxy(
  target: string,
  next: () => Fault,
  /** The server has taken a body. */
  taken: (body: Buffer) => void = () => {},
): Promise<{ readonly endpoint: string; close(): void }> {
  const { hostname, port } = new URL(target);
  const proxy = createServer((incoming, outgoing) => {
    const fault = next();
    if (typeof fault === "function") {
      incoming.resume().once("end", () => fault(outgoing));
      return;
    }
    const { method = "GET", url = "/", headers } = incoming;
    const body: Buffer[] = [];
    incoming.on("data", (part: Buffer) => body.push(part));
    const passed = request({ hostname, port, method, path: url, headers }, (response) => {
      if (response.statusCode === 200) taken(Buffer.concat(body));
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

function encoded(key: string): string {
  return key.split("/").map(encodeURIComponent).join("/");
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const free = createTcpServer().listen(0, "127.0.0.1", () => {
      const { port } = free.address() as AddressInfo;
      free.close(() => resolve(port));
    });
  });
}
