import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLogger, startCollector } from "@sluice/collector";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collectorForCli } from "../support/cli.js";
import { startProxy } from "../support/proxy.js";

/** The built command line in its own process, with real signals and disks. */
const SLUICE = fileURLToPath(new URL("../../bin/sluice.cjs", import.meta.url));

function sluice(args: readonly string[], env: Record<string, string>) {
  const child: ChildProcess = spawn(process.execPath, [SLUICE, ...args], {
    env: { ...process.env, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    err += chunk.toString();
  });
  return {
    child,
    /** Resolves with the exit code when all output is read. */
    ended: once(child, "close").then(([code]) => code as number | null),
    out: () => out,
    err: () => err,
  };
}

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
});
afterAll(() => at[Symbol.asyncDispose]());

describe("an import that is interrupted by SIGINT", () => {
  const MESSAGES = 20_000;

  it("continues where it stopped, without duplicates or gaps", async () => {
    const file = join(at.directory, "long.jsonl");
    const line = (i: number) => JSON.stringify({ type: "track", event: "Resumed", userId: String(i % 10) });
    // One of them is refused, and must be in the reject file once.
    const lines = [...Array.from({ length: MESSAGES }, (_, i) => line(i)), "nonsense"];
    await writeFile(file, lines.toSpliced(100, 0, '{"type":"track","userId":"1"}').join("\n"));

    let batches = 0;
    let interrupt = (): void => {};
    const held = new Promise<void>((resolve) => {
      interrupt = resolve;
    });
    await using proxy = await startProxy(at.url, {
      async onRequest(path) {
        if (!path.startsWith("/v1/import")) return;
        batches += 1;
        // Later requests wait for the interruption, so that the import cannot finish before.
        if (batches > 8) await held;
        if (batches === 8) {
          first.child.kill("SIGINT");
          // The signal is sent before the response.
          setImmediate(interrupt);
        }
      },
    });
    const env = { ...at.env, SLUICE_URL: proxy.url };
    const first = sluice(["import", file, "--no-deliver", "--json"], env);
    expect(await first.ended).toBe(130);
    const checkpoint = JSON.parse(await readFile(`${file}.sluice-import.json`, "utf8"));
    expect(checkpoint.line).toBeGreaterThan(0);
    expect(checkpoint.line).toBeLessThan(MESSAGES);

    // It keeps the choice of the first.
    const second = sluice(["import", file, "--json"], at.env);
    expect(await second.ended).toBe(6);
    expect(second.err()).toContain(`continuing after line ${checkpoint.line}`);
    expect(JSON.parse(second.out())).toMatchObject({ accepted: MESSAGES, rejected: 2 });
    const rejects = (await readFile(`${file}.rejected.jsonl`, "utf8")).trim().split("\n");
    expect(rejects.map((reject) => JSON.parse(reject).line)).toEqual([101, MESSAGES + 2]);

    const exported = join(at.directory, "resumed.jsonl");
    const third = sluice(["export", "event:Resumed", "-o", exported], at.env);
    expect(await third.ended).toBe(0);
    const ids = (await readFile(exported, "utf8"))
      .trim()
      .split("\n")
      .map((one) => JSON.parse(one).messageId);
    expect(ids).toHaveLength(MESSAGES);
    expect(new Set(ids).size).toBe(MESSAGES);
  });
});

describe("doctor", () => {
  const found = (out: string): Record<string, { result: string; message: string }> =>
    Object.fromEntries(JSON.parse(out).checks.map((check: { name: string }) => [check.name, check]));

  it.each([
    ["ahead of", 3_600_000],
    ["behind", -3_600_000],
  ])("finds a collector whose clock is an hour %s this one", async (word, offMs) => {
    await using proxy = await startProxy(at.url, {
      change: (path, text) => {
        if (!path.startsWith("/api/v1/info")) return text;
        const info = JSON.parse(text);
        return JSON.stringify({ ...info, now: new Date(Date.parse(info.now) + offMs).toISOString() });
      },
    });
    const doctor = sluice(["doctor", "--json"], { ...at.env, SLUICE_URL: proxy.url });
    expect(await doctor.ended).toBe(6);
    const { clock } = found(doctor.out());
    expect(clock?.result).toBe("problem");
    expect(clock?.message).toContain(word);
  });

  const isRoot = process.getuid?.() === 0;
  // Only root can mount the small disk to fill.
  it.skipIf(!isRoot)("finds a full disk, and a collector that cannot write to it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sluice-full-"));
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", folder]);
    expect(mounted.status, mounted.stderr?.toString()).toBe(0);
    try {
      const collector = await startCollector({
        mode: "dev",
        host: "127.0.0.1",
        port: 0,
        dataDirectory: join(folder, ".sluice"),
        logger: createLogger({ write() {} }),
      });
      try {
        const { adminToken = "", writeKey = "" } = collector.firstRun ?? {};
        const env = { SLUICE_URL: collector.url, SLUICE_TOKEN: adminToken, SLUICE_WRITE_KEY: writeKey };
        spawnSync("dd", ["if=/dev/zero", `of=${join(folder, "filler")}`, "bs=64k"]);
        const body = JSON.stringify({
          batch: [{ type: "track", event: "x", userId: "1", properties: { big: "x".repeat(30_000) } }],
        });
        const post = () =>
          fetch(`${collector.url}/v1/batch`, {
            method: "POST",
            headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
            body,
          });
        let status = (await post()).status;
        // Free space within the existing files is used first.
        for (let i = 0; status === 200 && i < 2_000; i++) status = (await post()).status;
        expect(status).toBe(503);
        const doctor = sluice(["doctor", "--json", "--data-dir", join(folder, ".sluice")], env);
        expect(await doctor.ended).toBe(6);
        const { disk, address, storage, refused, token } = found(doctor.out());
        expect(token).toMatchObject({ result: "ok" });
        expect(storage).toMatchObject({
          result: "problem",
          message: expect.stringContaining("not writable"),
        });
        expect(refused?.message).toMatch(/^1 request refused with 503 storage_unavailable/);
        expect(disk).toMatchObject({ result: "problem" });
        expect(disk?.message).toContain("0.0 GB free");
        expect(address).toMatchObject({ result: "problem" });
        expect(address?.message).toContain("503");
      } finally {
        await collector.close(1_000);
      }
    } finally {
      spawnSync("umount", [folder]);
      await rm(folder, { recursive: true });
    }
  });
});

describe("a collector that is busy or unreachable", () => {
  it("gets retries, and the process waits for them", async () => {
    let requests = 0;
    const busy = createServer((request, response) => {
      request.resume().on("end", () => {
        requests += 1;
        const isBusy = requests === 1;
        response.writeHead(isBusy ? 503 : 200, { "content-type": "application/json" });
        response.end(isBusy ? '{"success":false,"message":"busy"}' : '{"success":true}');
      });
    });
    busy.listen(0, "127.0.0.1");
    await once(busy, "listening");
    const url = `http://127.0.0.1:${(busy.address() as AddressInfo).port}`;
    try {
      const send = sluice(["send", "track", "--event", "x"], { ...at.env, SLUICE_URL: url });
      expect(await send.ended).toBe(0);
      expect(send.out()).toContain("accepted");
      expect(send.err()).toContain("busy; retrying");
      expect(requests).toBe(2);
    } finally {
      busy.closeAllConnections();
      await new Promise((resolve) => busy.close(resolve));
    }
    const away = sluice(["send", "track", "--event", "x"], { ...at.env, SLUICE_URL: url });
    expect(await away.ended).toBe(3);
    expect(away.err()).toContain("Is the collector running?");
    expect(away.out()).toBe("");
  });

  it("keeps the progress of an import that fails, and prints it", async () => {
    const file = join(at.directory, "cut.jsonl");
    const line = JSON.stringify({ type: "track", event: "Cut", userId: "1" });
    await writeFile(file, Array(6_000).fill(line).join("\n"));
    let imports = 0;
    await using proxy = await startProxy(at.url, {
      onRequest(path) {
        if (path.startsWith("/v1/import")) imports += 1;
      },
      status: (path) => (path.startsWith("/v1/import") && imports > 3 ? 401 : undefined),
    });
    const first = sluice(["import", file, "--no-deliver"], { ...at.env, SLUICE_URL: proxy.url });
    expect(await first.ended).toBe(4);
    const { line: upTo } = JSON.parse(await readFile(`${file}.sluice-import.json`, "utf8"));
    expect(upTo).toBeGreaterThan(0);
    expect(first.err()).toContain(`stopped after line ${upTo}`);

    const second = sluice(["import", file], at.env);
    expect(await second.ended).toBe(0);
    expect(second.out()).toMatch(/^imported .*; in total /);
  });
});
