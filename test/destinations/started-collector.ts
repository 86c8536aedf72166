import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const TOKEN = "an-admin-token-of-this-test";

interface Created {
  readonly id: string;
  /** Of a source. */
  readonly writeKeys: readonly { readonly key: string }[];
}

/** The trace that all messages belong to. */
export const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";

/** A change of a destination. */
export const DROPS_ALL = { filters: [{ action: { kind: "drop" } }] };

export interface StartedCollector extends AsyncDisposable {
  api(method: string, path: string, body?: object): Promise<Created>;
  send(writeKey: string | undefined, batch: readonly object[]): Promise<void>;
  /** A destination of a new source. `send`: messages of the source, by their ids. */
  connect(type: string, settings: object): Promise<Connected>;
  /** Resolves when attempts at a destination have failed. */
  failing(destinationId: string): Promise<void>;
  /** Resolves when a message has this outcome at the only destination. */
  outcome(messageId: string, state: string): Promise<void>;
  /** Ends the process with SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again on its folder. */
  start(): Promise<void>;
  /** Its log, and warnings of Node.js. */
  said(): string;
}

export interface Connected {
  readonly destinationId: string;
  readonly writeKey: string | undefined;
  send(...messageIds: readonly string[]): Promise<void>;
}

/** The built collector with a package, as users start it: by its name in the configuration. */
export async function startedCollector(destinations: string): Promise<StartedCollector> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-started-"));
  let log = "";
  const run = async () => {
    const child = spawn(process.execPath, [join(ROOT, "apps/collector/dist/main.js")], {
      cwd: ROOT,
      env: {
        PATH: process.env.PATH,
        SLUICE_PORT: "0",
        SLUICE_DATA_DIR: folder,
        SLUICE_ADMIN_TOKEN: TOKEN,
        SLUICE_ALLOW_TARGETS: "127.0.0.0/8",
        SLUICE_LOG_FORMAT: "json",
        SLUICE_DESTINATIONS: destinations,
      },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const url = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stderr }).on("line", (line) => {
        log += `${line}\n`;
        if (line.includes('"msg":"ready"')) resolve(JSON.parse(line).url);
      });
      child.once("exit", (code) => reject(new Error(`the collector ended with ${code}: ${log}`)));
    });
    return { child, url };
  };
  let running = await run();
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const { child } = running;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  };
  const call = async (
    method: string,
    path: string,
    authorization: string,
    body?: object,
  ): Promise<unknown> => {
    const response = await fetch(running.url + path, {
      method,
      headers: { authorization, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const api = async (method: string, path: string, body?: object): Promise<Created> =>
    (await call(method, `/api/v1${path}`, `Bearer ${TOKEN}`, body)) as Created;
  const send = async (writeKey: string | undefined, batch: readonly object[]): Promise<void> => {
    await call("POST", "/v1/batch", `Basic ${btoa(`${writeKey}:`)}`, { batch });
  };
  return {
    api,
    send,
    async connect(type, settings) {
      const { id: sourceId, writeKeys } = await api("POST", "/sources", { name: "Shop" });
      const body = { type, name: "Events", sourceIds: [sourceId], settings };
      const { id: destinationId } = await api("POST", "/destinations", body);
      const writeKey = writeKeys[0]?.key;
      const track = (messageId: string) => ({
        ...{ type: "track", event: "Ordered", userId: `u${messageId.slice(1)}`, messageId },
        properties: { colour: "red", sum: 1 },
        context: { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01` },
      });
      return { destinationId, writeKey, send: (...ids) => send(writeKey, ids.map(track)) };
    },
    async failing(destinationId) {
      const found = async (): Promise<unknown> => api("GET", `/destinations/${destinationId}/status`);
      await expect.poll(found, { timeout: 40_000 }).toMatchObject({ health: "failing" });
    },
    async outcome(messageId, state) {
      const found = async (): Promise<unknown> =>
        ((await api("GET", `/messages/${messageId}`)) as unknown as { outcomes: object[] }).outcomes[0];
      await expect.poll(found, { timeout: 40_000 }).toMatchObject({ state });
    },
    kill: () => end("SIGKILL"),
    async start() {
      running = await run();
    },
    said: () => log,
    async [Symbol.asyncDispose]() {
      await end("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Sends messages while the server of a destination is killed some times, each time after some have arrived and others are on their way.
 * Resolves with how many they were, once `arrived` counts as many.
 */
export async function killUnderLoad(
  { send }: Connected,
  server: { kill(): Promise<unknown>; start(): Promise<unknown> },
  arrived: () => Promise<number>,
  kills = 3,
): Promise<number> {
  let sent = 0;
  const burst = (): Promise<void> => send(...Array.from({ length: 200 }, () => `m${sent++}`));
  const bursts = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left--) await burst();
  };
  for (let times = 0; times < kills; times++) {
    const before = sent;
    await bursts(8);
    await expect.poll(arrived, { timeout: 60_000, interval: 20 }).toBeGreaterThan(before);
    const killed = server.kill();
    await bursts(4);
    await killed;
    await bursts(2);
    await server.start();
  }
  await expect.poll(arrived, { timeout: 90_000, interval: 500 }).toBe(sent);
  return sent;
}

/**
 * Kills collector and server when the server has taken three messages, and before the collector hears of it: a proxy keeps the answer to
 * the first request with `statement`. Meanwhile the destination is changed, so that it drops everything. Then both start again. Resolves
 * with what `read` found before and after.
 */
export async function killBeforeAnswer<Row>(
  { definition: { type } }: { readonly definition: { readonly type: string } },
  settingsFor: (port: number) => object,
  server: {
    kill(): Promise<unknown>;
    start(): Promise<unknown>;
    readonly port: number;
    readonly statement: string;
  },
  read: () => Promise<readonly Row[]>,
): Promise<{ readonly before: readonly Row[]; readonly after: readonly Row[] }> {
  let isHolding = true;
  const proxy = createServer((client) => {
    const upstream = connect(server.port, "127.0.0.1");
    let holds = false;
    client.on("data", (data: Buffer) => {
      holds ||= isHolding && data.includes(server.statement);
      upstream.write(data);
    });
    upstream.on("data", (data: Buffer) => holds || client.write(data));
    for (const one of [client, upstream])
      one.on("error", () => {}).on("close", () => [client, upstream].map((each) => each.destroy()));
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => void proxy.close());
  await using collector = await startedCollector(`@sluice/destination-${type}`);
  const settings = settingsFor((proxy.address() as AddressInfo).port);
  const { destinationId, send } = await collector.connect(type, settings);
  await send("m0", "m1", "m2");
  await expect.poll(read, { timeout: 20_000 }).toHaveLength(3);
  const before = await read();
  await collector.api("PATCH", `/destinations/${destinationId}`, DROPS_ALL);
  await send("m3");
  await Promise.all([collector.kill(), server.kill()]);
  isHolding = false;
  await server.start();
  await collector.start();
  await collector.outcome("m3", "filtered");
  await collector.outcome("m2", "delivered");
  return { before, after: await read() };
}
