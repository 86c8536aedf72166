import { type ChildProcess, execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import {
  type CollectorProcess,
  startCollectorProcess,
} from "../apps/collector/test/delivery/collector-process.js";
import { temporaryDirectories } from "../packages/event-log/test/temporary-directory.js";
import { Analytics } from "../packages/node/src/index.js";

const temporaryDirectory = temporaryDirectories();
const children = new Set<ChildProcess>();
const mounted: string[] = [];
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  await expect.poll(() => children.size).toBe(0);
  for (const folder of mounted.splice(0)) execFileSync("umount", [folder]);
});

const MB = 1_024 * 1_024;

/** A small file system in memory. Undefined where this process may not mount one. */
function smallDisk(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return undefined;
  const folder = temporaryDirectory();
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=32m", "tmpfs", folder], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  mounted.push(folder);
  return folder;
}

async function fill(collector: CollectorProcess, writeKey: string): Promise<Response> {
  for (let no = 0; ; no++) {
    const batch = Array.from({ length: 50 }, (_, index) => ({
      ...{ type: "track", event: "Filled", userId: "u1", messageId: `f-${no}-${index}` },
      properties: { text: "x".repeat(900) },
    }));
    const response = await fetch(`${collector.url}/v1/batch`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
      body: JSON.stringify({ batch }),
    });
    if (response.status !== 200) return response;
    await response.arrayBuffer();
  }
}

it("answers 503 when the disk is full, and takes what the SDK kept when it is not", {
  timeout: 120_000,
}, async ({ skip }) => {
  const disk = smallDisk();
  if (disk === undefined) return skip("needs root on Linux, to mount a small file system");
  const ballast = join(disk, "ballast");
  writeFileSync(ballast, Buffer.alloc(12 * MB));
  const collector = await startCollectorProcess(join(disk, "data"), children);
  const source = await collector.api<{ writeKeys: { key: string }[] }>("POST", "/sources", { name: "Shop" });
  const writeKey = source.writeKeys[0]?.key ?? "";
  const refused = await fill(collector, writeKey);
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(await refused.json()).toMatchObject({ code: "storage_unavailable" });

  const errors: unknown[] = [];
  const analytics = new Analytics({
    ...{ writeKey, host: collector.url, quiet: true },
    onError: (error) => errors.push(error),
  });
  for (let no = 0; no < 100; no++)
    analytics.track({
      userId: "ada",
      event: "Kept",
      messageId: `k-${no}`,
      properties: { text: "y".repeat(900) },
    });
  const readiness = async (): Promise<number> => (await fetch(`${collector.url}/readyz`)).status;
  await expect.poll(readiness).toBe(503);
  rmSync(ballast);
  await analytics.close();
  expect(errors).toEqual([]);
  const { items } = await collector.api<{ items: object[] }>("GET", "/messages?q=user:ada&limit=500");
  expect(items).toHaveLength(100);
  // It waits until no write has failed for a while.
  await expect.poll(readiness, { interval: 500 }).toBe(200);
});
