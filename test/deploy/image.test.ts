import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

/**
 * Builds the image with buildah and runs its file system as its configuration says: as its user, on a read-only root, with its entry
 * point. There is no registry, so the base is made here: Node.js with the libraries that it loads. By default the folder that the first
 * stage makes comes from this clone's build. `SLUICE_IMAGE=full` runs every step of the Dockerfile, on a base from Debian's packages.
 */
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const IS_FULL = process.env.SLUICE_IMAGE === "full";
const PROGRAMS = ["buildah", "unshare", "chroot", ...(IS_FULL ? ["debootstrap"] : [])];
const MISSING = PROGRAMS.filter(
  (name) => !["/usr/sbin", "/usr/bin", "/sbin", "/bin"].some((folder) => existsSync(join(folder, name))),
);
const IS_POSSIBLE = process.platform === "linux" && process.getuid?.() === 0 && MISSING.length === 0;
const MB = 1_024 * 1_024;
const MEMORY_BYTES = 512 * MB;
const CGROUP = "/sys/fs/cgroup/memory";

test.runIf(process.env.CI)("the image can be built here, as root", () => {
  expect([process.getuid?.(), MISSING]).toEqual([0, []]);
});

let folder: string;
let rootfs: string;

function buildah(args: readonly string[]): string {
  return execFileSync(
    "buildah",
    ["--root", join(folder, "storage"), "--runroot", join(folder, "run"), "--storage-driver", "vfs", ...args],
    { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 64 * MB },
  ).trim();
}

/** Node.js, `env` and what they load, instead of a base image. */
function makeSmallBase(base: string): void {
  const put = (from: string, to: string): void => {
    mkdirSync(dirname(join(base, to)), { recursive: true });
    copyFileSync(from, join(base, to));
  };
  put(process.execPath, "/usr/local/bin/node");
  put("/usr/bin/env", "/usr/bin/env");
  const loaded = execFileSync("ldd", [process.execPath, "/usr/bin/env"], { encoding: "utf8" });
  for (const [path] of loaded.matchAll(/\/\S+\.so[^\s:]*/g)) put(path, path);
}

/** A Debian with Node.js and npm, for all stages. */
function makeDebianBase(base: string): void {
  execFileSync("debootstrap", ["--variant=minbase", "--include=ca-certificates", "bookworm", base], {
    stdio: "inherit",
  });
  copyFileSync(process.execPath, join(base, "usr/local/bin/node"));
  // The npm that runs this check. Node.js of `node_modules` comes without one.
  const npm = dirname(dirname(realpathSync(process.env.npm_execpath ?? "run it by npm")));
  cpSync(npm, join(base, "usr/local/lib/node_modules/npm"), {
    recursive: true,
    dereference: true,
  });
  writeFileSync(
    join(base, "usr/local/bin/npm"),
    '#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/npm-cli.js "$@"\n',
  );
  chmodSync(join(base, "usr/local/bin/npm"), 0o755);
}

function buildBase(): void {
  const base = join(folder, "base");
  for (const name of ["tmp", "proc", "dev", "etc"]) mkdirSync(join(base, name), { recursive: true });
  if (IS_FULL) makeDebianBase(base);
  else makeSmallBase(base);
  const container = buildah(["from", "scratch"]);
  const { NODE_EXTRA_CA_CERTS: authorities } = process.env;
  if (IS_FULL && authorities !== undefined) {
    // npm reaches the registry here only with the certificate authorities of this machine.
    copyFileSync(authorities, join(base, "etc/extra-ca.crt"));
    buildah(["config", "--env", "NODE_EXTRA_CA_CERTS=/etc/extra-ca.crt", container]);
  }
  buildah(["copy", "-q", container, base, "/"]);
  buildah(["commit", "-q", "--rm", container, "localhost/sluice-base"]);
  rmSync(base, { recursive: true });
}

/** What the first stage leaves, from the build of this clone. */
function assembleHere(): string {
  const stage = join(folder, "stage");
  mkdirSync(join(stage, "image/data"), { recursive: true });
  execFileSync(process.execPath, [`${ROOT}deploy/docker/assemble.mjs`, join(stage, "image/opt/sluice")]);
  return stage;
}

interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Volumes: Readonly<Record<string, unknown>>;
  readonly StopSignal: string;
  readonly Healthcheck: { readonly Test: readonly string[] };
}
let config: ImageConfig;

/** The process of a container with the image's settings: its own mounts and processes, a read-only root, and the network of this machine. */
function run(command: readonly string[], environment: Readonly<Record<string, string>> = {}): ChildProcess {
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  const settings = [...config.Env, ...Object.entries(environment).map(([name, value]) => `${name}=${value}`)];
  const setUp = `
set -e
mount --make-rprivate /
mount --bind "$ROOTFS" "$ROOTFS"
mount --bind "$DATA" "$ROOTFS/data"
mount --bind /dev "$ROOTFS/dev"
mount -t tmpfs tmpfs "$ROOTFS/tmp"
mount -t proc proc "$ROOTFS/proc"
mount -o remount,ro,bind "$ROOTFS"
if [ -n "$CGROUP" ]; then echo 0 > "$CGROUP/cgroup.procs"; fi
cd "$ROOTFS"
exec chroot --userspec=${config.User} --groups= "$ROOTFS" /usr/bin/env -i ${settings.map((one) => `'${one}'`).join(" ")} ${quoted}
`;
  return spawn("unshare", ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", setUp], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, ROOTFS: rootfs, DATA: join(folder, "data"), CGROUP: cgroup ?? "" },
  });
}

async function output(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  let out = "";
  let err = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk) => {
    out += chunk;
  });
  child.stderr?.setEncoding("utf8").on("data", (chunk) => {
    err += chunk;
  });
  const [code] = await once(child, "close");
  return { code, out, err };
}

/** A group that holds the processes to the memory limit, where this machine has such groups. */
let cgroup: string | undefined;
function limitMemory(): void {
  if (!existsSync(join(CGROUP, "memory.limit_in_bytes"))) return;
  const group = join(CGROUP, `sluice-image-${process.pid}`);
  try {
    mkdirSync(group);
    writeFileSync(join(group, "memory.limit_in_bytes"), String(MEMORY_BYTES));
    cgroup = group;
  } catch {
    // The groups of this machine are read-only.
  }
}

beforeAll(
  () => {
    if (!IS_POSSIBLE) return;
    folder = mkdtempSync(join(tmpdir(), "sluice-image-"));
    buildBase();
    const stage = IS_FULL ? [] : ["--build-context", `build=${assembleHere()}`];
    buildah([
      ...[
        "bud",
        "--quiet",
        "--isolation",
        "chroot",
        "--format",
        "docker",
        "-f",
        `${ROOT}deploy/docker/Dockerfile`,
      ],
      ...["--build-arg", "BASE=localhost/sluice-base", ...stage, "-t", "localhost/sluice", ROOT],
    ]);
    rootfs = buildah(["mount", buildah(["from", "localhost/sluice"])]);
    config = JSON.parse(buildah(["inspect", "--type", "image", "localhost/sluice"])).Docker.config;
    // A new volume takes owner and mode from the image.
    cpSync(join(rootfs, "data"), join(folder, "data"), { recursive: true });
    execFileSync("chown", ["--reference", join(rootfs, "data"), join(folder, "data")]);
    limitMemory();
  },
  IS_FULL ? 3_600_000 : 120_000,
);
afterAll(async () => {
  await stop(running);
  if (cgroup !== undefined) rmdirSync(cgroup);
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

let running: ChildProcess | undefined;
let log = "";

/** Sends a signal to the image's first process, as an engine does, and resolves with its exit code. */
async function stop(child: ChildProcess | undefined): Promise<number | null> {
  if (child === undefined || child.exitCode !== null) return child?.exitCode ?? null;
  const exit = once(child, "exit");
  const [inner] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ");
  process.kill(Number(inner), config.StopSignal as NodeJS.Signals);
  const [code] = await exit;
  return code;
}

async function start(port: number): Promise<void> {
  const child = run([...config.Entrypoint, ...config.Cmd], { SLUICE_PORT: String(port) });
  log = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (chunk) => {
      log += chunk;
    });
  running = child;
  while (!log.includes('"ready"')) {
    if (child.exitCode !== null) throw new Error(`The container ended with ${child.exitCode}: ${log}`);
    await delay(20);
  }
}

describe.skipIf(!IS_POSSIBLE)("the image", () => {
  test("says how to run it: not as root, with a volume, a signal and a health check", () => {
    expect(config).toMatchObject({ User: "1000:1000", StopSignal: "SIGTERM", Volumes: { "/data": {} } });
    expect(config.Healthcheck.Test[0]).toBe("CMD");
    expect(config.Env.filter((one) => /TOKEN|SECRET|PASSWORD/.test(one))).toEqual([]);
  });

  test("adds only what runs: 20 MB, without sources, tests and tools", () => {
    const files = readdirSync(join(rootfs, "opt/sluice"), { recursive: true, encoding: "utf8" });
    expect(files.filter((file) => /\.(map|d\.[cm]?ts|tsx?)$/.test(file))).toEqual([]);
    const [size = ""] = execFileSync("du", ["-sm", join(rootfs, "opt/sluice")], { encoding: "utf8" }).split(
      "\t",
    );
    expect(Number(size)).toBeLessThanOrEqual(20);
    const modules = readdirSync(join(rootfs, "opt/sluice/node_modules"));
    expect(modules).toContain("undici");
    expect(
      modules.filter((name) => ["typescript", "vitest", "tsup", "esbuild", "react"].includes(name)),
    ).toEqual([]);
  });

  test("takes further packages, such as the one that exports traces", () => {
    const target = join(folder, "traces");
    execFileSync(process.execPath, [`${ROOT}deploy/docker/assemble.mjs`, target, "@sluice/opentelemetry"]);
    const load =
      'import("@sluice/opentelemetry").then((loaded) => console.log(typeof loaded.startTelemetry))';
    const cwd = join(target, "node_modules/sluice");
    expect(execFileSync(process.execPath, ["-e", load], { cwd, encoding: "utf8" })).toBe("function\n");
  });

  test("runs on a read-only root within 512 MB, ends cleanly on its signal, and keeps its data", async () => {
    const port = await freePort();
    await start(port);
    const at = { SLUICE_PORT: String(port), SLUICE_URL: `http://127.0.0.1:${port}` };
    const [, ...check] = config.Healthcheck.Test;
    expect(await output(run(check, at))).toMatchObject({ code: 0 });
    expect((await output(run(check, { SLUICE_PORT: String(await freePort()) }))).code).toBe(1);

    // As `docker exec` does it: the command finds the address and the token in the volume.
    const created = await output(run(["sluice", "sources", "create", "server", "--json"]));
    expect(created.err).toBe("");
    const writeKey: string = JSON.parse(created.out).writeKeys[0].key;
    const batch = (id: string): string =>
      JSON.stringify({
        batch: Array.from({ length: 500 }, (_, i) => ({
          ...{ type: "track", userId: `u${i}`, event: "Ordered", messageId: `${id}-${i}` },
          properties: { text: "x".repeat(500) },
        })),
      });
    for (let i = 0; i < 40; i++) {
      const answer = await fetch(`${at.SLUICE_URL}/v1/batch`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
        body: batch(`m${i}`),
      });
      expect(answer.status).toBe(200);
    }
    const outside = "require('fs').writeFileSync('/opt/sluice/x', '')";
    const refused = await output(
      run(["node", "-e", `try { ${outside} } catch (error) { console.log(error.code) }`]),
    );
    expect(refused.out.trim()).toBe("EROFS");
    if (cgroup !== undefined) {
      const peak = Number(readFileSync(join(cgroup, "memory.max_usage_in_bytes"), "utf8"));
      expect(peak).toBeGreaterThan(20 * MB);
      expect(readFileSync(join(cgroup, "memory.oom_control"), "utf8")).toMatch(/oom_kill 0|under_oom 0/);
    }

    expect(await stop(running)).toBe(0);
    expect(log).toContain('"closed"');
    await start(port);
    const kept = await output(run(["sluice", "messages", "get", "m39-499", "--json"]));
    expect(JSON.parse(kept.out)).toMatchObject({ messageId: "m39-499" });
    expect(await stop(running)).toBe(0);
  });
});
