import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";

const LOADER = new URL("../../../../scripts/source-loader.mjs", import.meta.url).href;
const CHILD = fileURLToPath(new URL("./live-reader-child.ts", import.meta.url));

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-live-memory-"));
});
afterEach(() => rm(directory, { recursive: true }));

test("a reader of the live stream does not take a small machine's memory", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--max-old-space-size=128",
    "--no-warnings",
    "--import",
    LOADER,
    CHILD,
    directory,
  ]);
  expect(stdout).toBe("1050\n");
});
