import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, expect } from "vitest";

const LOADER = fileURLToPath(new URL("../../../../scripts/source-loader.mjs", import.meta.url));
const MAIN = fileURLToPath(new URL("../../src/process/main.ts", import.meta.url));
export const ADMIN_TOKEN = "an-admin-token-of-the-test";

/** A collector in a child process, started as an operator starts it. Its data folder is kept when the process ends. */
export interface CollectorProcess {
  readonly url: string;
  /** Resolves with the exit code and signal of the process. */
  readonly ended: Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>;
  /** Calls the control API. */
  api<T>(method: string, path: string, body?: object): Promise<T>;
  /** Sends messages. Resolves with the ids that got a 200. */
  send(writeKey: string, messages: readonly object[]): Promise<void>;
  /** Sends the signal to the process. Resolves with its exit code and signal. */
  end(signal: NodeJS.Signals): CollectorProcess["ended"];
}

/** The processes of a test file. Each is killed after the test that started it. */
export function collectorProcesses(): Set<ChildProcess> {
  const children = new Set<ChildProcess>();
  afterEach(async () => {
    for (const child of children) child.kill("SIGKILL");
    await expect.poll(() => children.size).toBe(0);
  });
  return children;
}

/** Sends batches until the collector is killed, and adds the ids that got a 200 to `answered`. */
export async function sendUntilKilled(
  collector: CollectorProcess,
  writeKey: string,
  nextBatch: () => readonly { readonly messageId: string }[],
  answered: Set<string>,
): Promise<void> {
  for (;;) {
    const messages = nextBatch();
    try {
      await collector.send(writeKey, messages);
    } catch {
      return;
    }
    for (const { messageId } of messages) answered.add(messageId);
  }
}

/** `atReady`: sent to the process in the same turn in which its line `ready` is read. */
export async function startCollectorProcess(
  folder: string,
  children: Set<ChildProcess>,
  atReady?: NodeJS.Signals,
): Promise<CollectorProcess> {
  const child = spawn(process.execPath, ["--import", LOADER, MAIN], {
    env: {
      ...process.env,
      SLUICE_PORT: "0",
      SLUICE_DATA_DIR: folder,
      SLUICE_ADMIN_TOKEN: ADMIN_TOKEN,
      SLUICE_ALLOW_TARGETS: "127.0.0.0/8",
      SLUICE_LOG_FORMAT: "json",
    },
    stdio: ["ignore", "inherit", "pipe"],
  });
  children.add(child);
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  void ended.then(() => children.delete(child));
  const url = await new Promise<string>((resolve, reject) => {
    const lines: string[] = [];
    createInterface({ input: child.stderr }).on("line", (line) => {
      lines.push(line);
      if (!line.includes('"msg":"ready"')) return;
      if (atReady !== undefined) child.kill(atReady);
      resolve(JSON.parse(line).url);
    });
    void ended.then(() => reject(new Error(`The collector ended before it was ready:\n${lines.join("\n")}`)));
  });
  const call = async (path: string, init: RequestInit): Promise<unknown> => {
    const answer = await fetch(url + path, init);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  return {
    url,
    ended,
    api: <T>(method: string, path: string, body?: object) =>
      call(`/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }) as Promise<T>,
    async send(writeKey, batch) {
      await call("/v1/batch", {
        method: "POST",
        headers: { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}` },
        body: JSON.stringify({ batch }),
      });
    },
    async end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}
