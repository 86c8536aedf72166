import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort, ROOT, type RunningCollector, runCollector, stopProcess } from "./running-collector.js";
import { pagesWithSnippets, type Snippet, snippetsOf } from "./snippets.js";

const run = promisify(execFile);

/** The address of the reader's receiver in the documents. */
const RECEIVER = "http://127.0.0.1:3000";

let collector: RunningCollector;
let receiverUrl: string;
const servers: ChildProcess[] = [];

beforeAll(async () => {
  collector = await runCollector();
});
afterAll(async () => {
  for (const server of servers) await stopProcess(server, "SIGKILL");
  await collector?.close();
});

/** The command that runs a snippet. Modules resolve as in a file at the root. */
function commandOf({ language, code }: Snippet): [string, string[]] {
  const text = receiverUrl === undefined ? code : code.replaceAll(RECEIVER, receiverUrl);
  if (language === "sh") return ["bash", ["-euo", "pipefail", "-c", text]];
  if (language === "ts") return [process.execPath, ["--input-type=module-typescript", "-e", text]];
  return [process.execPath, ["--input-type=module", "-e", text]];
}

/** Polls until the port accepts connections: there is no event to wait for in another process. */
async function waitForPort(port: number): Promise<void> {
  while (!(await canConnect(port))) await delay(20);
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

async function runSnippet(snippet: Snippet): Promise<string> {
  const [command, args] = commandOf(snippet);
  const { stdout } = await run(command, args, {
    cwd: ROOT,
    env: { ...process.env, ...collector.env, CURL_HOME: "/dev/null" },
    timeout: 100_000,
  });
  return stdout;
}

async function serve(snippet: Snippet): Promise<AsyncIterator<string>> {
  const port = await freePort();
  const [command, args] = commandOf(snippet);
  const server = spawn(command, args, {
    cwd: ROOT,
    env: { ...process.env, ...collector.env, PORT: String(port) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  servers.push(server);
  const lines = createInterface(server.stdout)[Symbol.asyncIterator]();
  await waitForPort(port);
  receiverUrl = `http://127.0.0.1:${port}`;
  return lines;
}

const isRun = (snippet: Snippet): boolean => snippet.flags.includes("run");
const isServer = (snippet: Snippet): boolean => snippet.flags.includes("server");

/** Has its own test, because it runs in two folders. */
const isInstall = (snippet: Snippet): boolean => snippet.flags.includes("pack");

test("README: the packages install elsewhere, as ES module and CommonJS", async () => {
  const [install] = snippetsOf(`${ROOT}/README.md`).filter(isInstall);
  const folder = await mkdtemp(join(tmpdir(), "sluice-install-"));
  try {
    const app = join(folder, "your-app");
    await mkdir(app);
    await writeFile(join(app, "package.json"), "{}");
    const code = (install as Snippet).code
      // `npm test` has built the packages already.
      .replace("npm run build\n", "")
      .replaceAll("/tmp/sluice", join(folder, "tarballs"))
      .replace("cd your-app", `cd ${app}`);
    await run("bash", ["-euo", "pipefail", "-c", code], { cwd: ROOT, timeout: 100_000 });
    const names = '["@sluice/node", "@sluice/webhooks"]';
    const esm = `for (const name of ${names}) console.log(Object.keys(await import(name)).length > 1)`;
    const cjs = `for (const name of ${names}) console.log(Object.keys(require(name)).length > 1)`;
    for (const args of [
      ["--input-type=module", "-e", esm],
      ["--input-type=commonjs", "-e", cjs],
    ]) {
      const { stdout } = await run(process.execPath, args, { cwd: app });
      expect(stdout).toBe("true\ntrue\n");
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("README: the receiver gets what the senders send, with the snippets as written", async () => {
  const snippets = snippetsOf(`${ROOT}/README.md`).filter(isRun);
  const [server, ...others] = snippets.filter(isServer);
  expect(server, "README has one receiver").toBeDefined();
  expect(others).toEqual([]);
  const lines = await serve(server as Snippet);
  const connects = snippets.filter((snippet) => snippet.code.includes("/api/v1/destinations"));
  expect(connects).toHaveLength(1);
  const created = JSON.parse(await runSnippet(connects[0] as Snippet));
  expect(created).toMatchObject({ enabled: true });

  const senders = snippets.filter(
    (snippet) => !isServer(snippet) && !isInstall(snippet) && !connects.includes(snippet),
  );
  expect(senders.map(({ language }) => language)).toEqual(["js", "sh"]);
  for (const sender of senders) {
    await runSnippet(sender);
    expect((await lines.next()).value).toBe("track 42");
  }
});

const guides = pagesWithSnippets(ROOT).filter(
  (page) => !page.endsWith("README.md") && snippetsOf(page).some(isRun),
);
describe.each(guides)("%s", (page) => {
  const snippets = snippetsOf(page).filter(isRun);
  test
    .runIf(snippets.length > 0)
    .each(snippets.map((snippet) => [relative(ROOT, page), snippet.line, snippet] as const))(
    "%s line %d",
    async (_page, _line, snippet) => {
      if (isServer(snippet)) await serve(snippet);
      else await runSnippet(snippet);
    },
  );
});
