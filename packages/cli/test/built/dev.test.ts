import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, describe, expect, it } from "vitest";

/** The built command line in its own process. */
const SLUICE = fileURLToPath(new URL("../../bin/sluice.cjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "sluice-dev-"));
const running = new Set<ChildProcess>();

afterEach(async () => {
  for (const child of running) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function dev(
  dataDir: string,
  nodeOptions: readonly string[] = [],
  { env = {}, more = [] }: { env?: Record<string, string>; more?: readonly string[] } = {},
) {
  const args = [...nodeOptions, SLUICE, "dev", "--json", "--port", "0", "--data-dir", dataDir, ...more];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  const ended = once(child, "exit").then(([code]) => {
    running.delete(child);
    return code as number | null;
  });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => lines.push(line));
  await Promise.race([once(reader, "line"), ended]);
  const [line] = lines;
  if (line === undefined) throw new Error("sluice dev ended without being ready");
  return { ready: JSON.parse(line), lines, child, ended };
}

describe("sluice dev --json", () => {
  // Only Linux shows the arguments of a process, and only newer versions of Node.js have execve.
  it.runIf(process.platform === "linux" && "execve" in process)(
    "sets the semi-space size and the heaps of the C library without starting a second process",
    async () => {
      const { child, ended } = await dev("room");
      expect(readFileSync(`/proc/${child.pid}/cmdline`, "utf8")).toContain("--max-semi-space-size=");
      expect(readFileSync(`/proc/${child.pid}/environ`, "utf8").split("\0")).toContain("MALLOC_ARENA_MAX=2");
      child.kill("SIGTERM");
      expect(await ended).toBe(0);
    },
  );

  it("starts on systems where execve exists but throws", async () => {
    const asOnWindows = join(folder, "as-on-windows.cjs");
    writeFileSync(asOnWindows, "process.execve = () => { throw new Error('not on this platform') };");
    const { ready, child, ended } = await dev("as-on-windows", ["--require", asOnWindows]);
    expect((await fetch(`${ready.url}/readyz`)).status).toBe(200);
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
  });

  it("prints exactly one line, and loses nothing at SIGTERM", async () => {
    const { ready, lines, child, ended } = await dev("first");
    expect(Object.keys(ready).sort()).toEqual(["adminToken", "dashboardUrl", "sourceId", "url", "writeKey"]);
    expect(ready.dashboardUrl.startsWith(`${ready.url}/`)).toBe(true);
    const sent = await fetch(`${ready.url}/v1/track`, {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(`${ready.writeKey}:`).toString("base64")}` },
      body: '{"event":"Kept","userId":"1","messageId":"kept"}',
    });
    expect(sent.status).toBe(200);
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
    expect(lines).toHaveLength(1);

    const again = await dev("first");
    expect({ ...again.ready, url: "", dashboardUrl: "" }).toEqual({ ...ready, url: "", dashboardUrl: "" });
    const found = await fetch(`${again.ready.url}/api/v1/messages/kept`, {
      headers: { authorization: `Bearer ${ready.adminToken}` },
    });
    expect(found.status).toBe(200);
    expect(statSync(join(folder, "first", "dev.json")).mode & 0o777).toBe(0o600);
    again.child.kill("SIGINT");
    expect(await again.ended).toBe(0);
  });

  it("names the other region's address for a key of that region", async () => {
    const oregon = await dev("oregon", [], { more: ["--region", "oregon"] });
    const env = { SLUICE_OREGON_URL: oregon.ready.url };
    const dublin = await dev("dublin", [], { env, more: ["--region", "dublin"] });
    const answer = await fetch(`${dublin.ready.url}/v1/track`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${oregon.ready.writeKey}:`)}` },
      body: '{"event":"Elsewhere","userId":"1"}',
    });
    expect(answer.status).toBe(421);
    expect(await answer.json()).toMatchObject({ region: "oregon", url: oregon.ready.url });
    for (const { child, ended } of [oregon, dublin]) {
      child.kill("SIGTERM");
      expect(await ended).toBe(0);
    }
  });

  it("says that the address is in use", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const args = [SLUICE, "dev", "--port", String(port), "--data-dir", "second"];
    const failed = await promisify(execFile)(process.execPath, args, { cwd: folder }).catch((error) => error);
    other.close();
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain(`The address 127.0.0.1:${port} is already in use by another process`);
    expect(failed.stdout).toBe("");
  });

  it("refuses unknown options and values with exit code 2", async () => {
    for (const args of [
      ["--port", "nope"],
      ["--region", "mars"],
      ["--prt", "1"],
    ]) {
      const failed = await promisify(execFile)(process.execPath, [SLUICE, "dev", ...args], {
        cwd: folder,
      }).catch((error) => error);
      expect(failed.code).toBe(2);
    }
  });
});

describe("an old Node.js", () => {
  it.each(["20.20.2", "22.12.0"])(
    "%s gets a message about the required version before anything is loaded",
    async (version) => {
      const pretend = `Object.defineProperty(process.versions, "node", { value: "${version}" }); require(${JSON.stringify(SLUICE)})`;
      const failed = await promisify(execFile)(process.execPath, ["-e", pretend]).catch((error) => error);
      expect(failed.code).toBe(1);
      expect(failed.stderr).toContain(`sluice needs Node.js 22.13 or newer. This is ${version}`);
    },
  );
});
