import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { styleFor } from "../../packages/cli/src/terminal/style.ts";
import { clusterWelcome } from "../../scripts/cluster/cluster-welcome.ts";
import { keptPartitions } from "../../scripts/cluster/kept-partitions.ts";
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

test("npm run cluster keeps the number of partitions of its data folder", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-partitions-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const asked of ["0", "17", "2.5", "four"])
    expect(() => keptPartitions(folder, asked)).toThrow(`from 1 to 16, got ${asked}`);
  expect(keptPartitions(folder, "4")).toBe(4);
  expect(keptPartitions(folder, undefined)).toBe(4);
  expect(() => keptPartitions(folder, "2")).toThrow(`The cluster in ${folder} has 4 partitions`);
});

test("a data folder of the time before there were several has one partition", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-partitions-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "secrets.json"), "{}");
  expect(keptPartitions(folder, undefined)).toBe(1);
  expect(() => keptPartitions(folder, "4")).toThrow("has 1 partition, which cannot be changed");
});

test("npm run cluster prints how to use it, and its processes", () => {
  const ready = { url: "http://127.0.0.1:8787", dashboardUrl: "http://127.0.0.1:8787/#token=t" };
  const text = clusterWelcome(
    { ...ready, adminToken: "t", sourceId: "src_1", writeKey: "wk_1" },
    "/data",
    { processes: [{ name: "collector a", address: "127.0.0.1:4001", pid: 17 }], partitions: 4 },
    styleFor({ NO_COLOR: "1" }, false),
  );
  expect(text).toMatch(/SLUICE_URL=http:\S+8787 SLUICE_WRITE_KEY=wk_1/);
  expect(text).toMatch(/^ {2}Partitions {2}4, shared by the collectors/m);
  expect(text).toContain("npx sluice cluster status");
  expect(text).toMatch(/^ {4}collector a 127\.0\.0\.1:4001 process 17$/m);
});
