import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it, vi } from "vitest";
import { lockFile } from "../../src/sqlite/database/file-lock.js";
import { temporaryDirectories } from "../temporary-directory.js";

const LOADER = fileURLToPath(new URL("../../../../scripts/source-loader.mjs", import.meta.url));
const CHILD = fileURLToPath(new URL("lock-child.ts", import.meta.url));
/** Like a container: process ids of its own, so that the child is number 1, and a host name of its own. */
const CONTAINER = ["unshare", "--user", "--map-root-user", "--pid", "--uts", "--fork", "--kill-child"];
const [UNSHARE = "", ...FLAGS] = CONTAINER;
const hasContainers = spawnSync(UNSHARE, [...FLAGS, "hostname", "c0ffee"]).status === 0;

const temporaryDirectory = temporaryDirectories();
const children = new Set<ChildProcess>();
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  await vi.waitUntil(() => children.size === 0, { timeout: 30_000 });
});

async function startChild(file: string, prefix: readonly string[]) {
  const [command = "", ...args] = [...prefix, process.execPath, "--import", LOADER, CHILD, file];
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  // The output ends when the last process that has it has ended, which in a container is not `child`.
  const ended = once(child, "close").then(() => children.delete(child));
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return { line: String(line), kill: () => child.kill("SIGKILL") && ended };
}

async function excludesUntilKilled(prefix: readonly string[], says: RegExp): Promise<void> {
  const file = join(temporaryDirectory(), "in-use.lock");
  const first = await startChild(file, prefix);
  expect(first.line).toMatch(says);
  expect(lockFile(file)).toBeUndefined();
  expect((await startChild(file, prefix)).line).toBe("refused");
  await first.kill();
  const second = await startChild(file, prefix);
  expect(second.line).toMatch(says);
  await second.kill();
  const unlock = lockFile(file);
  expect(unlock).toBeTypeOf("function");
  unlock?.();
}

it("keeps others out while a process holds the lock, and not after it was killed", { timeout: 120_000 }, () =>
  excludesUntilKilled([], /^locked by \d+ on/),
);

it.skipIf(!hasContainers)(
  "does the same between containers, each of which has a process 1",
  {
    timeout: 120_000,
  },
  () => excludesUntilKilled(CONTAINER, /^locked by 1 on/),
);

it("excludes a second holder in the same process, and writes nothing", () => {
  const folder = temporaryDirectory();
  const file = join(folder, "in-use.lock");
  const unlock = lockFile(file);
  expect([lockFile(file), lockFile(file)]).toEqual([undefined, undefined]);
  unlock?.();
  unlock?.();
  lockFile(file)?.();
  expect(readdirSync(folder)).toEqual(["in-use.lock"]);
  expect(readFileSync(file)).toHaveLength(0);
});

it("does not count a lock on a file that was removed", () => {
  const file = join(temporaryDirectory(), "in-use.lock");
  const first = lockFile(file);
  rmSync(file);
  const second = lockFile(file);
  expect(second).toBeTypeOf("function");
  first?.();
  expect(lockFile(file)).toBeUndefined();
  second?.();
});
