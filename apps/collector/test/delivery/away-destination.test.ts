import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const LOADER = new URL("../../../../scripts/source-loader.mjs", import.meta.url).href;
const CHILD = fileURLToPath(new URL("./away-destination-child.ts", import.meta.url));
/** The messages that are held by default, and twice as much for their rounds, what is read ahead, and the store's answers. */
const MOST_BYTES = 3 * 16 * 1_024 * 1_024;

test("a destination with batches that is away for an hour takes the memory of its batches, however much waits", async () => {
  const directory = await mkdtemp(join(tmpdir(), "sluice-away-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const args = ["--expose-gc", "--no-warnings", "--import", LOADER, CHILD, directory];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { bytes, most, attempts, arrived } = JSON.parse(stdout) as Record<string, number>;
  expect(bytes).toBeGreaterThan(90_000_000);
  expect(attempts).toBeGreaterThan(5);
  expect(most).toBeLessThan(MOST_BYTES);
  expect(arrived).toBe(60_000);
}, 240_000);
