import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { styleFor } from "../../packages/cli/src/terminal/style.ts";
import { clusterWelcome } from "../../scripts/cluster/cluster-welcome.ts";
import { makeFolder } from "../../scripts/cluster/make-folder.ts";
import { readOptions } from "../../scripts/cluster/read-options.ts";
import { findNatsServer } from "../nats/nats-server.ts";

const DEMO = resolve(import.meta.dirname, "../../examples/demo/src/main.mjs");

const server = findNatsServer();
const isSkipped = server.kind === "missing" && process.env.CI === undefined;
if (isSkipped && server.kind === "missing") console.warn(`skipped: ${server.reason}`);

async function demo(env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [DEMO, "--cluster", "--kill"], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    err += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out, err };
}

// The demo runs `npm run cluster` as somebody at a terminal does, and ends it.
test.skipIf(isSkipped)(
  "npm run demo -- --cluster --kill loses and changes nothing when the owner is killed",
  { timeout: 180_000 },
  async () => {
    const { code, out, err } = await demo();
    expect(out + err).toContain("Nothing was lost, nothing was changed.");
    expect(out).toMatch(/^sent +934$/m);
    expect(out).toMatch(/^verified +934$/m);
    expect(out).toMatch(/^lost +0$/m);
    const [, killed] = /killed collector (\w), the owner, with/.exec(err) ?? [];
    const [, next] = /collector (\w) is the owner now/.exec(err) ?? [];
    expect([killed, next]).toEqual([expect.stringMatching(/[abc]/), expect.stringMatching(/[abc]/)]);
    expect(next).not.toBe(killed);
    expect(code).toBe(0);
  },
);

test("the demo says what a cluster needs where nats-server is missing", async () => {
  const { code, out, err } = await demo({ SLUICE_NATS_SERVER: "/nonexistent" });
  expect([code, out]).toEqual([1, ""]);
  expect(err).toBe("A cluster needs nats-server 2.10 or newer: npm run nats:install (on Debian)\n");
});

test.each([
  [["--collectors"], "Unknown option '--collectors'"],
  [["--port"], "Option '--port <value>' argument missing"],
  [["foo"], "Unexpected argument 'foo'"],
  [["--port", "high"], "--port must be an integer from 0 to 65535, got high"],
])("npm run cluster refuses bad options: %j", (args, reason) => {
  const read = readOptions(args);
  expect(read).toEqual({ kind: "wrong", reason: expect.stringContaining(reason) });
  expect(read.kind === "wrong" && read.reason).not.toMatch(/[.\n]$/);
});

test("npm run cluster reads its options", () => {
  expect(readOptions(["--help"])).toEqual({ kind: "help" });
  expect(readOptions(["--port", "0", "--data-dir", "/data"])).toEqual({
    kind: "run",
    options: { port: 0, directory: "/data", json: false },
  });
});

test("npm run cluster says which data folder cannot be made", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-folder-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  makeFolder(join(folder, "a/b"));
  makeFolder(join(folder, "a/b"));
  writeFileSync(join(folder, "file"), "");
  expect(() => makeFolder(join(folder, "file/nats"))).toThrow(
    `The data folder ${join(folder, "file/nats")} cannot be made: `,
  );
});

test.skipIf(process.platform !== "linux")(
  "npm run cluster ends if its data folder cannot be made in /proc",
  () => {
    expect(() => makeFolder("/proc/sluice/nats")).toThrow(/cannot be made: ENOENT/);
  },
);

test("npm run cluster prints how to use it, and its processes", () => {
  const ready = { url: "http://127.0.0.1:8787", dashboardUrl: "http://127.0.0.1:8787/#token=t" };
  const text = clusterWelcome(
    { ...ready, adminToken: "t", sourceId: "src_1", writeKey: "wk_1" },
    "/data",
    [{ name: "collector a", address: "127.0.0.1:4001", pid: 17 }],
    styleFor({ NO_COLOR: "1" }, false),
  );
  expect(text).toMatch(/SLUICE_URL=http:\S+8787 SLUICE_WRITE_KEY=wk_1/);
  expect(text).toContain("npx sluice cluster status");
  expect(text).toContain("run the `export` lines before `npx sluice`");
  expect(text).toMatch(/^ {4}collector a 127\.0\.0\.1:4001 process 17$/m);
});
