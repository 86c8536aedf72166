import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeDataFolder } from "../src/data-folder.js";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "sluice-folder-"));
});
afterAll(() => rm(root, { recursive: true }));

test("makes the folder with those above it, for its owner alone", async () => {
  const folder = join(root, "a/b/c");
  await makeDataFolder(folder);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
});

test("takes a folder that is there", async () => {
  await expect(makeDataFolder(root)).resolves.toBeUndefined();
});

test("says that it is a file, or stands below one", async () => {
  const file = join(root, "file");
  await writeFile(file, "");
  await expect(makeDataFolder(file)).rejects.toThrow(/cannot be used/);
  await expect(makeDataFolder(join(file, "below"))).rejects.toThrow("a part of its path is a file");
});

test.runIf(process.platform === "linux")("ends where nothing can be made", async () => {
  await expect(makeDataFolder("/proc/nope")).rejects.toThrow("nothing can be made in the folder above it");
});
