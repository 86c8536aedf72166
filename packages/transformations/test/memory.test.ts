import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const LOADER = new URL("../../../scripts/source-loader.mjs", import.meta.url).href;
const CHILD = fileURLToPath(new URL("memory-child.ts", import.meta.url));

it("a process stays below 512 MB whatever transformations do, and its threads end", async () => {
  const args = ["--expose-gc", "--disable-warning=ExperimentalWarning", "--import", LOADER, CHILD];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const found = JSON.parse(stdout);
  expect(found.outcomes.at(-1)).toBe("same");
  expect(found.outcomes.slice(0, 3)).toEqual([
    expect.stringMatching("memory|timeout"),
    expect.stringMatching("memory|timeout"),
    "memory",
  ]);
  expect(found.peakMb).toBeLessThan(512);
  // No thread and no VM is left. What is still resident are pages of Node.js itself that were read, and what the C library keeps of
  // what was freed, which the next thread takes again.
  expect(found.idleMb - found.beforeMb).toBeLessThan(100);
});
