import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeDataFolder } from "../../src/process/data-folder.js";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "sluice-folder-"));
});
afterAll(() => rm(root, { recursive: true }));

test("creates the folder and its parents, readable by their owner only", async () => {
  const folder = join(root, "a/b/c");
  await makeDataFolder(folder);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
});

test("accepts an existing folder", async () => {
  await expect(makeDataFolder(root)).resolves.toBeUndefined();
});

test("reports a path that is a file or below one", async () => {
  const file = join(root, "file");
  await writeFile(file, "");
  await expect(makeDataFolder(file)).rejects.toThrow(/cannot be used/);
  await expect(makeDataFolder(join(file, "below"))).rejects.toThrow("part of its path is a file");
});

test.runIf(process.platform === "linux")("ends where nothing can be made", async () => {
  await expect(makeDataFolder("/proc/nope")).rejects.toThrow("its parent folder does not allow new entries");
});

test.skipIf(process.platform === "win32")(
  "leaves a folder alone that another user keeps to themselves",
  async () => {
    const folder = join(root, "shared");
    await mkdir(join(folder, "exports", "other"), { recursive: true });
    await writeFile(join(folder, "exports", "zz.jsonl"), "", { mode: 0o600 });
    await chmod(join(folder, "exports", "other"), 0o000);
    await Promise.all([root, folder, join(folder, "exports")].map((path) => chmod(path, 0o755)));
    // Root may read every folder, so switch to another user.
    const program = `
    const { makeOwnerOnly } = await import(${JSON.stringify(new URL("../../src/process/data-folder.ts", import.meta.url).href)});
    if (process.getuid() === 0) process.setuid(65534);
    console.log(JSON.stringify(await makeOwnerOnly(process.argv[1])));
  `;
    const loader = fileURLToPath(new URL("../../../../scripts/source-loader.mjs", import.meta.url));
    const flags = ["--import", loader, "--input-type=module", "--eval", program, folder];
    const { stdout } = await promisify(execFile)(process.execPath, flags);
    expect(JSON.parse(stdout)).toEqual(process.getuid?.() === 0 ? [] : ["exports"]);
  },
  60_000,
);
