/** Backups that end in the middle: a full target, a killed command, a killed collector. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  ADMIN_TOKEN,
  type CollectorProcess,
  startCollectorProcess,
} from "../apps/collector/test/delivery/collector-process.js";
import { temporaryDirectories } from "../packages/event-log/test/temporary-directory.js";

const LOADER = fileURLToPath(new URL("../scripts/source-loader.mjs", import.meta.url));
const CLI = new URL("../packages/cli/src/main.ts", import.meta.url).href;
/** Requests of 0.3 MB in the large backup: more than the buffers of the sockets hold. */
const MANY = 40;
const WAIT = { timeout: 60_000, interval: 50 };

const temporaryDirectory = temporaryDirectories();
const children = new Set<ChildProcess>();
const toClose: (() => void)[] = [];
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  await vi.waitUntil(() => children.size === 0, WAIT);
  for (const close of toClose.splice(0).reverse()) close();
});

/** The command line in a process of its own, from the sources. */
function sluice(url: string, ...args: string[]) {
  const program = `import(${JSON.stringify(CLI)}).then(({ main }) => main())`;
  const child = spawn(process.execPath, ["--import", LOADER, "-e", program, "--", "sluice", ...args], {
    env: { ...process.env, SLUICE_URL: url, SLUICE_TOKEN: ADMIN_TOKEN, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  let text = "";
  for (const output of [child.stdout, child.stderr])
    output.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
  const ended = once(child, "close").then(([code, signal]) => {
    children.delete(child);
    return { code: code as number | null, signal: signal as NodeJS.Signals | null, text };
  });
  return { child, ended };
}

/** Passes on requests, and of each response only the first bytes until `goOn`. */
async function stallingProxy(target: string, firstBytes: number) {
  let bytes = firstBytes;
  const { port } = new URL(target);
  const sockets = new Set<Socket>();
  const stalled = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
    // The other side learns that one is gone, as without a proxy.
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
    client.pipe(upstream);
    let passed = 0;
    upstream.on("data", (chunk: Buffer) => {
      client.write(chunk);
      passed += chunk.byteLength;
      if (passed < bytes) return;
      upstream.pause();
      stalled.add(upstream);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  toClose.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    goOn() {
      bytes = Number.POSITIVE_INFINITY;
      for (const socket of stalled) socket.resume();
    },
  };
}

/** Sends `count` requests with 0.3 MB each that cannot be compressed. */
async function fill(collector: CollectorProcess, writeKey: string, count: number): Promise<void> {
  for (let no = 0; no < count; no++) {
    const batch = Array.from({ length: 15 }, () => ({
      ...{ type: "track", event: "Filled", userId: "u1" },
      properties: { text: randomBytes(15_000).toString("base64") },
    }));
    await collector.send(writeKey, batch);
  }
}

/** Restores a backup, and returns how many messages a collector on it has. */
async function messagesAfterRestore(file: string): Promise<number> {
  const directory = join(temporaryDirectory(), "restored");
  const restored = await sluice("http://127.0.0.1:1", "restore", file, "--data-dir", directory).ended;
  expect(restored.code, restored.text).toBe(0);
  const collector = await startCollectorProcess(directory, children);
  const metrics = await (await fetch(`${collector.url}/metrics`)).text();
  await collector.end("SIGTERM");
  return Number(/^sluice_store_messages (\d+)/m.exec(metrics)?.[1]);
}

describe("a backup that ends in the middle", { timeout: 240_000 }, () => {
  let data: string;
  let collector: CollectorProcess;
  let writeKey: string;
  beforeEach(async () => {
    data = join(temporaryDirectory(), "data");
    collector = await startCollectorProcess(data, children);
    const source = await collector.api<{ writeKeys: { key: string }[] }>("POST", "/sources", {
      name: "Shop",
    });
    writeKey = source.writeKeys[0]?.key ?? "";
    await fill(collector, writeKey, 1);
  });

  /** Begins a backup that stalls in the middle. */
  async function stalledBackup() {
    const folder = temporaryDirectory();
    await fill(collector, writeKey, MANY);
    const proxy = await stallingProxy(collector.url, 4_000_000);
    const file = join(folder, "a.tar");
    const running = sluice(proxy.url, "backup", file);
    const written = (): number =>
      statSync(join(folder, "a.tar.partial"), { throwIfNoEntry: false })?.size ?? 0;
    await vi.waitUntil(() => written() > 1_000_000, WAIT);
    return { folder, file, running, proxy };
  }

  it("because the command is killed: leaves no archive, and the next one succeeds", async () => {
    const { folder, file, running } = await stalledBackup();
    running.child.kill("SIGKILL");
    expect((await running.ended).signal).toBe("SIGKILL");
    expect(readdirSync(folder)).toEqual(["a.tar.partial"]);
    // The collector ends its side when it notices that the connection has ended.
    await vi.waitUntil(async () => (await sluice(collector.url, "backup", file).ended).code === 0, WAIT);
    expect(readdirSync(folder)).toEqual(["a.tar"]);
    expect(await messagesAfterRestore(file)).toBe(15 * (1 + MANY));
  });

  it("because the collector is killed: says so, keeps nothing of it, and the next one succeeds", async () => {
    const { folder, file, running, proxy } = await stalledBackup();
    await collector.end("SIGKILL");
    // What the operating system had sent already still arrives, and then the end of the connection.
    proxy.goOn();
    const { code, text } = await running.ended;
    expect([code, text]).toEqual([
      1,
      expect.stringMatching(/The connection ended before the backup was complete/),
    ]);
    expect(readdirSync(folder)).toEqual([]);
    collector = await startCollectorProcess(data, children);
    const next = await sluice(collector.url, "backup", file).ended;
    expect(next.code, next.text).toBe(0);
    expect(await messagesAfterRestore(file)).toBe(15 * (1 + MANY));
  });

  it("because the disk is full: keeps the earlier ones, and succeeds when there is space", async ({
    skip,
  }) => {
    const disk = temporaryDirectory();
    if (!mount(disk, "size=6m")) return skip("needs root on Linux, to mount a small file system");
    const [first, second] = [join(disk, "first.tar"), join(disk, "second.tar")];
    expect((await sluice(collector.url, "backup", first).ended).code).toBe(0);
    await fill(collector, writeKey, MANY);
    const full = await sluice(collector.url, "backup", second).ended;
    expect([full.code, full.text]).toEqual([1, expect.stringMatching(/The disk is full/)]);
    expect(readdirSync(disk)).toEqual(["first.tar"]);
    expect(mount(disk, "remount,size=64m")).toBe(true);
    await vi.waitUntil(async () => (await sluice(collector.url, "backup", second).ended).code === 0, WAIT);
    expect(await messagesAfterRestore(first)).toBe(15);
    expect(await messagesAfterRestore(second)).toBe(15 * (1 + MANY));
  });

  /** Whether this process may mount. A mounted folder is unmounted after the test. */
  function mount(folder: string, options: string): boolean {
    if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder], { stdio: "ignore" });
    } catch {
      return false;
    }
    if (!options.startsWith("remount")) toClose.push(() => execFileSync("umount", [folder]));
    return true;
  }
});
