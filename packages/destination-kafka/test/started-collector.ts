import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const ROOT = join(import.meta.dirname, "../../..");
const TOKEN = "an-admin-token-of-this-test";

interface Created {
  readonly id: string;
  /** Of a source. */
  readonly writeKeys: readonly { readonly key: string }[];
}

export interface StartedCollector extends AsyncDisposable {
  api(method: string, path: string, body?: object): Promise<Created>;
  send(writeKey: string | undefined, batch: readonly object[]): Promise<void>;
  /** Its log, and warnings of Node.js. */
  said(): string;
}

/** The built collector with this package, as users start it: by its name in the configuration. */
export async function startedCollector(): Promise<StartedCollector> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-kafka-collector-"));
  const child = spawn(process.execPath, [join(ROOT, "apps/collector/dist/main.js")], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      SLUICE_PORT: "0",
      SLUICE_DATA_DIR: folder,
      SLUICE_ADMIN_TOKEN: TOKEN,
      SLUICE_ALLOW_TARGETS: "127.0.0.0/8",
      SLUICE_LOG_FORMAT: "json",
      SLUICE_DESTINATIONS: "@sluice/destination-kafka",
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      log += `${line}\n`;
      if (line.includes('"msg":"ready"')) resolve(JSON.parse(line).url);
    });
    child.once("exit", (code) => reject(new Error(`the collector ended with ${code}: ${log}`)));
  });
  const call = async (
    method: string,
    path: string,
    authorization: string,
    body?: object,
  ): Promise<unknown> => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  return {
    api: async (method, path, body) =>
      (await call(method, `/api/v1${path}`, `Bearer ${TOKEN}`, body)) as Created,
    async send(writeKey, batch) {
      await call("POST", "/v1/batch", `Basic ${btoa(`${writeKey}:`)}`, { batch });
    },
    said: () => log,
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
