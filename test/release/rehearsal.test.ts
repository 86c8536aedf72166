/**
 * A release, rehearsed: publishes every package to a registry on this machine, and uses them from empty folders as their users
 * do. `npm run release:rehearse` also raises the versions first, in a clone.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pack, publish } from "../../scripts/release/publish.mjs";
import { publishedPackages, ROOT } from "../../scripts/release/published.mjs";
import { dependencyFolders, isInstalled, type Registry, readManifest, startRegistry } from "./registry.js";

const run = promisify(execFile);
const NODE_20 = join(import.meta.dirname, "../runtimes/node_modules/node-20/bin/node");
/** What is published. The rehearsal of a whole release passes a clone whose versions it has raised. */
const TREE = process.env.SLUICE_RELEASE_TREE ?? ROOT;

/** npm is called a dozen times, and each call takes up to half a minute on a machine with other work. */
const LIMIT_MS = 900_000;

if (!isInstalled && process.env.CI === undefined)
  console.warn("skipped: the rehearsal of a release needs `npm run release:install`");

describe.skipIf(!isInstalled && process.env.CI === undefined)("a release", { timeout: LIMIT_MS }, () => {
  let folder: string;
  let registry: Registry;
  let dev: Dev;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sluice-release-"));
    registry = await startRegistry(join(folder, "registry"));
    await publishEverything(registry, folder);
    dev = await startDev(await emptyFolder("dev"), registry.env);
  }, LIMIT_MS);
  afterAll(async () => {
    await dev?.stop();
    await registry?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  async function emptyFolder(name: string, manifest?: object): Promise<string> {
    const place = join(folder, name);
    await mkdir(place);
    if (manifest !== undefined) await writeFile(join(place, "package.json"), JSON.stringify(manifest));
    return place;
  }

  const install = (cwd: string, ...args: string[]) =>
    run("npm", ["install", ...args], { cwd, env: registry.env });
  const connected = () => ({ ...registry.env, SLUICE_URL: dev.url, SLUICE_WRITE_KEY: dev.writeKey });

  it("`npx sluice dev` runs a collector that serves its dashboard", async () => {
    const page = await fetch(dev.url);
    expect(page.status).toBe(200);
    const [script = ""] = (await page.text()).match(/\/assets\/index-[\w-]+\.js/) ?? [];
    expect((await fetch(`${dev.url}${script}`)).status).toBe(200);
    expect(await (await fetch(`${dev.url}/THIRD-PARTY-LICENSES.txt`)).text()).toContain("react-dom");
  });

  it("applications in TypeScript and CommonJS compile, send and receive", async () => {
    const app = await emptyFolder("app", { type: "module" });
    await install(app, "@sluice/node", "@sluice/webhooks");
    const compiles = await typeScriptApplication(app);
    await compiles("nodenext", []);
    await compiles("bundler", ["--noEmit"]);

    await using receiver = await startProcess([join(app, "receive.mjs")], app, connected());
    const url = (await receiver.nextLine()).replace("listening at ", "");
    await dev.createWebhook(url, "a secret");
    for (const node of [process.execPath, NODE_20].filter((path) => existsSync(path)))
      for (const file of ["send.mjs", "send.cjs"]) {
        const { stdout } = await run(node, [file], { cwd: app, env: connected() });
        expect(JSON.parse(stdout)).toEqual({ delivered: 1, failed: 0, refused: 0 });
        expect(await receiver.nextLine()).toBe(`received ${file}`);
      }
  });

  it("`npm i -D @sluice/testing` works in a project with Vitest", async () => {
    const app = await emptyFolder("tested", { type: "module" });
    await install(app, "@sluice/node");
    await install(app, "-D", "@sluice/testing");
    await linkTools(app, ["vitest"]);
    await writeFile(join(app, "checkout.test.ts"), VITEST_TEST);
    const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
    const { stdout } = await run(process.execPath, [vitest, "run", "--root", app], {
      cwd: app,
      env: registry.env,
    });
    expect(stdout).toContain("1 passed");
  });

  it.skipIf(!existsSync(NODE_20) && process.env.CI === undefined)(
    "the command line says which Node.js it needs",
    async () => {
      const app = await emptyFolder("old", {});
      await install(app, "sluice");
      const bin = join(app, "node_modules/sluice/bin/sluice.cjs");
      const { status, stderr } = spawnSync(NODE_20, [bin, "dev"], { encoding: "utf8", env: registry.env });
      expect(status).toBe(1);
      expect(stderr).toMatch(/^sluice needs Node\.js 22\.13 or newer\. This is 20\./);
      const { stdout } = await run(process.execPath, [bin, "--version"], { env: registry.env });
      expect(stdout.trim()).toBe(readManifest(join(TREE, "packages/cli")).version);
    },
  );
});

/** Third-party packages come from this clone's `node_modules`, because the registry knows no other. */
async function publishEverything(registry: Registry, folder: string): Promise<void> {
  const tarballs = join(folder, "tarballs");
  await mkdir(tarballs);
  const ours = publishedPackages(`${TREE.replace(/\/$/, "")}/`);
  const others = dependencyFolders(ours.map((one) => join(TREE, one.folder)));
  const packed = pack(others, { root: "/", to: tarballs, env: registry.env });
  for (const [index, { file }] of packed.entries())
    await registry.add(file, readManifest(others[index] as string));
  for (const { file } of pack(
    ours.map((one) => one.folder),
    { root: TREE, to: tarballs, env: registry.env },
  ))
    publish(file, { cwd: tarballs, env: registry.env });
}

interface Dev {
  readonly url: string;
  readonly writeKey: string;
  createWebhook(url: string, sharedSecret: string): Promise<void>;
  stop(): Promise<void>;
}

/** `npx sluice dev` in an empty folder. */
async function startDev(cwd: string, env: NodeJS.ProcessEnv): Promise<Dev> {
  const command = spawn("npx", ["--yes", "sluice", "dev", "--port", "0", "--json"], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const lines = createInterface(command.stdout)[Symbol.asyncIterator]();
  const { value } = await lines.next();
  if (value === undefined) throw new Error("`npx sluice dev` ended");
  const { url, writeKey, adminToken, sourceId } = JSON.parse(value);
  return {
    url,
    writeKey,
    async createWebhook(webhook, sharedSecret) {
      const response = await fetch(`${url}/api/v1/destinations`, {
        method: "POST",
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        body: JSON.stringify({
          type: "webhooks",
          sourceIds: [sourceId],
          settings: { webhooks: [{ url: webhook }], sharedSecret },
          enabled: true,
        }),
      });
      if (!response.ok) throw new Error(await response.text());
    },
    async stop() {
      if (command.exitCode !== null || command.pid === undefined) return;
      const ended = once(command, "exit");
      // npx starts a shell, which starts the command: the signal is for the whole group.
      process.kill(-command.pid, "SIGTERM");
      await ended;
    },
  };
}

async function startProcess(args: string[], cwd: string, env: NodeJS.ProcessEnv) {
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout as NonNullable<typeof child.stdout>)[Symbol.asyncIterator]();
  return {
    async nextLine(): Promise<string> {
      const { value } = await lines.next();
      if (value === undefined) throw new Error(`${args.join(" ")} ended`);
      return value;
    },
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, "exit");
      if (child.kill("SIGKILL")) await ended;
    },
  };
}

/** Tools of this clone in an application that installs only what is released. */
async function linkTools(app: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await mkdir(join(app, "node_modules", name, ".."), { recursive: true });
    await symlink(join(ROOT, "node_modules", name), join(app, "node_modules", name));
  }
}

async function typeScriptApplication(app: string) {
  await linkTools(app, ["@types/node", "undici-types"]);
  await writeFile(join(app, "send.mts"), `import { Analytics } from "@sluice/node";\n${SEND}`);
  await writeFile(join(app, "send.cts"), `import { Analytics } from "@sluice/node";\n${SEND}`);
  await writeFile(join(app, "receive.mts"), RECEIVE);
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  return async (resolution: "nodenext" | "bundler", args: readonly string[]) => {
    const module = resolution === "bundler" ? "preserve" : resolution;
    await writeFile(
      join(app, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          target: "es2022",
          module,
          moduleResolution: resolution,
          types: ["node"],
        },
        files: ["send.mts", "send.cts", "receive.mts"],
      }),
    );
    const { stdout } = await run(process.execPath, [tsc, ...args], { cwd: app }).catch((error) => {
      throw new Error(`tsc (${resolution}): ${error.stdout}`);
    });
    expect(stdout).toBe("");
    if (resolution === "nodenext")
      expect(await readFile(join(app, "send.cjs"), "utf8")).toContain("require(");
  };
}

const SEND = `import { basename } from "node:path";
async function main(): Promise<void> {
  const analytics = new Analytics();
  analytics.track({ userId: "u1", event: basename(process.argv[1] ?? ""), properties: { plan: "pro" } });
  console.log(JSON.stringify(await analytics.close()));
}
void main();
`;

const RECEIVE = `import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { nodeHandler } from "@sluice/webhooks";
const handler = nodeHandler({
  secret: "a secret",
  onMessage(message) {
    if (message.type === "track") console.log("received", message.event);
  },
});
const server = createServer(handler).listen(0, "127.0.0.1", () => {
  console.log(\`listening at http://127.0.0.1:\${(server.address() as AddressInfo).port}\`);
});
`;

const VITEST_TEST = `import { Analytics } from "@sluice/node";
import { fakeCollector, memoryTransport } from "@sluice/testing";
import { expect, it } from "vitest";
it("tracks", async () => {
  const collector = fakeCollector({ faults: [{ status: 503 }] });
  const analytics = new Analytics({ writeKey: "test", transport: memoryTransport(collector) });
  analytics.track({ userId: "u1", event: "Signed Up" });
  await analytics.close();
  expect(collector.messages).toMatchObject([{ event: "Signed Up" }]);
});
`;
