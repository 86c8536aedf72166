import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { verify } from "@sluice/webhooks";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT, type RunningCollector, runCollector, stopProcess } from "../docs/test/running-collector.js";
import { application } from "./runtimes/application.js";
import { BUNDLERS } from "./runtimes/bundlers.js";
import { describeOnRuntimes } from "./runtimes/tools.js";
import { runWorkers } from "./runtimes/workerd.js";

const FOLDER = join(ROOT, "examples/quickstarts");
const SECRET = "a secret of your own";
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) =>
  existsSync(path),
);
const run = promisify(execFile);

let collector: RunningCollector;
let receiver: Server;
/** What the receiver got, by user or anonymous id. */
const received = new Map<string, { type: string; event?: string; properties?: unknown }[]>();

interface Created {
  readonly id: string;
  readonly writeKeys: readonly { readonly key: string }[];
}

async function api(path: string, body: object): Promise<Created> {
  const response = await fetch(`${collector.env.SLUICE_URL}/api/v1/${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${collector.env.SLUICE_ADMIN_TOKEN}`,
      "content-type": "application/json",
    },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as Created;
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer;
}

let webKey = "";

beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (!verify(body, String(request.headers["x-signature"]), SECRET))
      return void response.writeHead(401).end();
    const message = JSON.parse(body.toString());
    const id = message.userId ?? message.anonymousId;
    received.set(id, [...(received.get(id) ?? []), message]);
    response.end();
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  collector = await runCollector();
  const web = await api("sources", { name: "Shop", kind: "web" });
  webKey = web.writeKeys[0]?.key ?? "";
  await api("destinations", {
    type: "webhooks",
    sourceIds: [collector.env.SLUICE_SOURCE_ID, web.id],
    settings: {
      webhooks: [{ url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}` }],
      sharedSecret: SECRET,
    },
    enabled: true,
  });
});
afterAll(async () => {
  await collector?.close();
  receiver?.closeAllConnections();
  receiver?.close();
});

const signedUp = expect.objectContaining({
  type: "track",
  event: "Signed Up",
  properties: { plan: "pro" },
});

const delivered = (id: string) => expect.poll(() => received.get(id));

/** Starts an application, which prints its URL. Signs a user up, and stops the application at once. */
async function signUpAndStop(
  userId: string,
  args: readonly string[],
  cwd = FOLDER,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...collector.env, PORT: "0", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    let url: string | undefined;
    for await (const line of createInterface(child.stdout)) {
      [url] = /http:\/\/(127\.0\.0\.1|localhost):\d+/.exec(line) ?? [];
      if (url !== undefined) break;
    }
    child.stdout.resume();
    const response = await fetch(`${url}/signups`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ userId, plan: "pro" }),
    });
    expect([response.status, await response.json()]).toEqual([201, { userId }]);
    // The message is still queued: without a flush, the process would lose it.
    await stopProcess(child, "SIGTERM");
  } finally {
    await stopProcess(child, "SIGKILL");
  }
  await delivered(userId).toEqual([signedUp]);
}

test("script: sends what is queued before it ends", async () => {
  const { stdout } = await run(process.execPath, ["src/script.mjs"], {
    cwd: FOLDER,
    env: { ...process.env, ...collector.env },
  });
  expect(stdout).toBe("delivered 1, failed 0\n");
  await delivered("42").toEqual([signedUp]);
});

test.each(["express", "fastify", "hono"])(
  "%s: a request is delivered, also if the process stops at once",
  (name) => signUpAndStop(name, [`src/${name}.mjs`]),
  60_000,
);

const isNestInstalled = existsSync(join(FOLDER, "nestjs/node_modules/@nestjs/core"));
if (!isNestInstalled && process.env.CI === undefined) console.warn("skipped: needs npm run nestjs:install");

// On CI a missing framework is a failure, not a skip.
test.skipIf(!isNestInstalled && process.env.CI === undefined)(
  "nestjs: a request is delivered, also if the process stops at once",
  async () => {
    const cwd = join(FOLDER, "nestjs");
    await run(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "."], { cwd });
    await signUpAndStop("nestjs", ["dist/main.js"], cwd);
  },
  120_000,
);

const isNextInstalled = existsSync(join(FOLDER, "nextjs/node_modules/next"));
if (!isNextInstalled && process.env.CI === undefined) console.warn("skipped: needs npm run nextjs:install");

// A production build takes four times the CPU of the development server: `npm run nextjs:production` has both.
const NEXT_MODES = process.env.SLUICE_NEXTJS === "production" ? ["dev", "start"] : ["dev"];

describe.skipIf(!isNextInstalled && process.env.CI === undefined)("nextjs", () => {
  test.each(NEXT_MODES)(
    "next %s: a request is delivered, also if the process stops at once",
    async (mode) => {
      const cwd = join(FOLDER, "nextjs");
      installIn(cwd);
      const next = "node_modules/next/dist/bin/next";
      const env = {
        NODE_ENV: mode === "dev" ? "development" : "production",
        NEXT_TELEMETRY_DISABLED: "1",
        // The development server ends after 100 ms by default, also if it has work to finish.
        NEXT_EXIT_TIMEOUT_MS: "30000",
      };
      // Without a write key: applications are built where they do not run.
      if (mode === "start")
        await run(process.execPath, [next, "build"], { cwd, env: { ...process.env, ...env } });
      await signUpAndStop(`next ${mode}`, [next, mode, "--hostname", "127.0.0.1", "--port", "0"], cwd, env);
    },
    600_000,
  );
});

/** Copies what `npm install @sluice/node` would install. Next.js would read the sources behind the workspace's links. */
function installIn(folder: string): void {
  const modules = join(folder, "node_modules");
  for (const name of ["core", "node"]) {
    for (const published of ["package.json", "dist"]) {
      const target = join(modules, "@sluice", name, published);
      cpSync(join(ROOT, "packages", name, published), target, { recursive: true });
    }
  }
  cpSync(join(ROOT, "node_modules/undici"), join(modules, "undici"), { recursive: true });
}

describeOnRuntimes("worker", () => {
  test("a request is delivered after its response", async () => {
    const app = application(["examples/serverless/src/cloudflare.mjs"]);
    const bundle = { output: "worker.mjs", target: "workerd", format: "esm" } as const;
    await BUNDLERS.esbuild({ application: app, source: "cloudflare.mjs", ...bundle });
    const { SLUICE_URL = "", SLUICE_WRITE_KEY = "" } = collector.env;
    const workerd = await runWorkers(app.folder, [{ file: bundle.output, format: bundle.format }], {
      SLUICE_URL,
      SLUICE_WRITE_KEY,
    });
    try {
      const body = JSON.stringify({ userId: "worker", total: 5 });
      const response = await fetch(workerd.urls.get(bundle.output) ?? "", { method: "POST", body });
      expect(response.status).toBe(200);
      await delivered("worker").toEqual([
        expect.objectContaining({ event: "Order Completed", properties: { total: 5 } }),
      ]);
    } finally {
      await workerd.close();
      app.remove();
    }
  });
});

describe.skipIf(CHROMIUM === undefined && process.env.CI === undefined)("browser", () => {
  test("a page view and a click are delivered, also if the visitor leaves at once", async () => {
    const html = readFileSync(join(FOLDER, "src/browser.html"), "utf8")
      .replace("http://127.0.0.1:8787", String(collector.env.SLUICE_URL))
      .replace("the write key of a web source", webKey);
    // The page has another origin than the collector, as it has in life.
    const shop = createServer((request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(request.url === "/" ? html : "<!doctype html><title>Welcome</title>");
    }).listen(0, "127.0.0.1");
    await once(shop, "listening");
    const browser = await chromium.launch({
      executablePath: CHROMIUM ?? "chromium is missing",
      args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"].concat(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ),
    });
    try {
      const page = await browser.newPage();
      const problems: string[] = [];
      page.on(
        "console",
        (line) => line.type() === "error" && !line.text().includes("favicon") && problems.push(line.text()),
      );
      await page.goto(`http://127.0.0.1:${(shop.address() as AddressInfo).port}/`);
      const anonymousId = await page.evaluate<string>("localStorage.getItem('anonymousId')");
      await page.click("#sign-up");
      await page.waitForURL("**/welcome");
      await delivered(anonymousId).toEqual(
        expect.arrayContaining([expect.objectContaining({ type: "page" }), signedUp]),
      );
      expect(received.get(anonymousId)).toHaveLength(2);
      expect(problems).toEqual([]);
    } finally {
      await browser.close();
      shop.closeAllConnections();
      shop.close();
    }
  });
});
