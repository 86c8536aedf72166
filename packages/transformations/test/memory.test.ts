import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const CHILD = fileURLToPath(new URL("memory-child.ts", import.meta.url));

it("a process keeps 40 MB at most when transformations are idle, and stays below 512 MB whatever they do", async () => {
  const args = ["--expose-gc", "--disable-warning=ExperimentalWarning", CHILD];
  // As a collector has it: the C library keeps what was freed in a heap of each thread.
  const env = { ...process.env, MALLOC_ARENA_MAX: "2" };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  const found = JSON.parse(stdout);
  expect(found.outcomes.at(-1)).toBe("same");
  expect(found.outcomes.slice(0, 3)).toEqual([
    expect.stringMatching("memory|timeout"),
    expect.stringMatching("memory|timeout"),
    "memory",
  ]);
  expect(found.peakMb).toBeLessThan(512);
  // No thread and no VM is left: what is still resident are pages of Node.js itself that were read, and what the C library keeps of
  // what was freed. That grows with what was large once, and the next thread takes it again.
  expect(found.idleMb - found.beforeMb).toBeLessThan(40);
  expect(found.attackedMb - found.beforeMb).toBeLessThan(50);
}, 300_000);
