import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";

const LOADER = new URL("../../../../scripts/source-loader.mjs", import.meta.url).href;
const CHILD = fileURLToPath(new URL("./hanging-destinations-child.ts", import.meta.url));

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-hanging-"));
});
afterEach(() => rm(directory, { recursive: true }));

test.each(["none", "user"])(
  "ten hanging destinations do not exhaust the memory of a small machine (order: %s)",
  async (order) => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--max-old-space-size=128",
      "--no-warnings",
      "--import",
      LOADER,
      CHILD,
      directory,
      order,
    ]);
    expect(stdout).toBe("601\n");
  },
  240_000,
);
