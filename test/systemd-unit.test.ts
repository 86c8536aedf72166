import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const UNIT = `${ROOT}deploy/systemd/sluice.service`;
const unit = readFileSync(UNIT, "utf8");
const MISSING = ["/usr/bin/systemd-analyze", "/usr/bin/strace"].filter((program) => !existsSync(program));

/** In tenths, as `--threshold` takes it: 1.1 is what the unit reaches. 0.5 of it is the network, which a collector needs. */
const MOST_EXPOSURE = 12;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-unit-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test.runIf(process.env.CI)("the programs that check the unit are installed", () => {
  expect(MISSING).toEqual([]);
});

test.skipIf(MISSING.length > 0)("systemd finds nothing wrong with the unit", async () => {
  // `verify` looks for the program, so one has to be there.
  const program = join(folder, "sluice");
  await writeFile(program, "#!/bin/sh\n");
  await chmod(program, 0o755);
  const file = join(folder, "sluice.service");
  await writeFile(file, unit.replace("/opt/sluice/bin/sluice", program));
  const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", file]);
  expect([status, `${stdout}${stderr}`]).toEqual([0, ""]);
});

test.skipIf(MISSING.length > 0)("systemd counts the exposure as low", () => {
  const { status, stdout } = spawnSync("systemd-analyze", [
    ...["security", "--offline=true", `--threshold=${MOST_EXPOSURE}`, "--no-pager", UNIT],
  ]);
  expect([status, /Overall exposure level.*/.exec(String(stdout))?.[0]]).toEqual([0, expect.anything()]);
});

test("the unit waits longer for the end than the collector takes", () => {
  const stopSeconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
  const page = readFileSync(`${ROOT}docs/reference/configuration.md`, "utf8");
  const graceMs = Number(/^\| `closeGraceMs` .*?`(\d+)`/m.exec(page)?.[1]);
  expect(stopSeconds * 1_000).toBeGreaterThanOrEqual(2 * graceMs);
});

/** The system calls of each set of systemd, such as `@system-service`. */
function callSets(): Map<string, string[]> {
  const sets = new Map<string, string[]>();
  let name = "";
  for (const line of execFileSync("systemd-analyze", ["syscall-filter", "--no-pager"], {
    encoding: "utf8",
  }).split("\n")) {
    // Escape sequences mark the names on a terminal only.
    if (/^@[\w-]+$/.test(line)) name = line;
    else if (/^\s+[@\w]/.test(line)) sets.set(name, [...(sets.get(name) ?? []), line.trim()]);
  }
  return sets;
}

function expand(sets: Map<string, string[]>, names: readonly string[]): Set<string> {
  return new Set(
    names.flatMap((name) => (name.startsWith("@") ? [...expand(sets, sets.get(name) ?? [])] : [name])),
  );
}

/** The calls that the unit's filter allows. */
function allowedCalls(): Set<string> {
  const sets = callSets();
  let allowed = new Set<string>();
  for (const [, value = ""] of unit.matchAll(/^SystemCallFilter=(.*)$/gm)) {
    const named = expand(sets, value.replace(/^~/, "").split(" "));
    allowed = value.startsWith("~") ? allowed.difference(named) : allowed.union(named);
  }
  return allowed;
}

/** Calls that the filter refuses, and that Node.js or the C library does without when they fail. */
const DISPENSABLE = new Set([
  // Memory protection keys for compiled code.
  "pkey_alloc",
  "pkey_free",
  "pkey_mprotect",
  // SQLite calls it for root only.
  "fchown",
  // Faster file access, where the kernel has it.
  "io_uring_setup",
  "io_uring_enter",
  "io_uring_register",
]);

test.skipIf(MISSING.length > 0)("the filter allows every system call that a collector makes", async () => {
  const counts = join(folder, "calls");
  const data = join(folder, "data");
  const child: ChildProcess = spawn(
    "strace",
    [
      ...[
        "-f",
        "-c",
        "-o",
        counts,
        process.execPath,
        `${ROOT}packages/cli/bin/sluice.cjs`,
        "collector",
        "--json",
      ],
      ...["--port", "0", "--admin-listen", "127.0.0.1:0", "--data-dir", data],
    ],
    {
      stdio: ["ignore", "pipe", "ignore"],
      env: { PATH: process.env.PATH, SLUICE_ADMIN_TOKEN: "an-admin-token-of-the-test" },
    },
  );
  const [line] = await once(child.stdout as NonNullable<typeof child.stdout>, "data");
  const { url, adminUrl } = JSON.parse(String(line));
  const admin = (path: string, body: object) =>
    fetch(`${adminUrl}/api/v1${path}`, {
      method: "POST",
      headers: { authorization: "Bearer an-admin-token-of-the-test" },
      body: JSON.stringify(body),
    }).then((response) => response.json());
  const source = await admin("/sources", { name: "server" });
  // A name to resolve and a target to refuse, so that delivery runs too.
  await admin("/destinations", {
    ...{ type: "webhooks", sourceIds: [source.id], enabled: true },
    settings: { webhooks: [{ url: "http://localhost:9/" }] },
  });
  const sent = await fetch(`${url}/v1/track`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${source.writeKeys[0].key}:`)}` },
    body: '{"userId":"u1","event":"Ordered","messageId":"m1"}',
  });
  expect(sent.status).toBe(200);
  const { pid } = JSON.parse(readFileSync(join(data, "listening.json"), "utf8"));
  const exit = once(child, "exit");
  process.kill(pid, "SIGTERM");
  expect(await exit).toEqual([0, null]);
  const made = [...readFileSync(counts, "utf8").matchAll(/^\s*[\d.]+\s.*\s(\w+)$/gm)]
    .map(([, name = ""]) => name)
    .filter((name) => name !== "total");
  expect(made.length).toBeGreaterThan(20);
  const allowed = allowedCalls();
  expect(allowed.size).toBeGreaterThan(200);
  expect(made.filter((name) => !allowed.has(name) && !DISPENSABLE.has(name))).toEqual([]);
});
