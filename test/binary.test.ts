/** The single executable on a machine without Node.js: nothing is on the PATH, and its folder cannot be written. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { smtpServer } from "../packages/destination-email/test/smtp-server.js";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../", import.meta.url));
const isInstalled = existsSync(join(ROOT, "test/release/node_modules/postject"));
if (!isInstalled && process.env.CI === undefined)
  console.warn("skipped: the single executable needs `npm run release:install`");

describe.skipIf(!isInstalled && process.env.CI === undefined)(
  "the single executable",
  { timeout: 120_000 },
  () => {
    let folder: string;
    let executable: string;
    let dev: Dev;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "sluice-binary-"));
      executable = join(folder, "bin/sluice");
      await mkdir(join(folder, "empty"));
      await run(process.execPath, [join(ROOT, "scripts/binary/main.mjs"), "--out", executable], {
        cwd: ROOT,
      });
      await symlink(join(ROOT, "node_modules"), join(folder, "empty/node_modules"));
      chmodSync(join(folder, "bin"), 0o555);
      dev = await startDev(executable, join(folder, "empty"));
    }, 240_000);
    afterAll(async () => {
      await dev?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const sluice = (...args: string[]) =>
      run(executable, args, { cwd: join(folder, "empty"), env: environment(folder) });

    it("knows its version, its commands and how it was started", async () => {
      const { version } = JSON.parse(readFileSync(join(ROOT, "packages/cli/package.json"), "utf8"));
      expect((await sluice("--version")).stdout).toBe(`${version}\n`);
      expect((await sluice("completion", "bash")).stdout).toContain(
        "complete -o filenames -F _sluice sluice",
      );
      const { stdout } = await sluice("send", "--help");
      expect(stdout).toContain(`$ ${executable} send`);
      expect(stdout).not.toContain("npx");
      const wrong = await sluice("nope").catch((error) => error);
      expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("Unknown command 'nope'")]);
    });

    it("serves the dashboard, its licences and the API's description", async () => {
      const page = await (await fetch(dev.url)).text();
      const [script = "", style = ""] = [/\/assets\/index-[\w-]+\.js/, /\/assets\/index-[\w-]+\.css/].map(
        (pattern) => page.match(pattern)?.[0],
      );
      expect((await (await fetch(`${dev.url}${script}`)).text()).length).toBeGreaterThan(100_000);
      expect((await fetch(`${dev.url}${style}`)).headers.get("content-type")).toContain("text/css");
      expect(await (await fetch(`${dev.url}/THIRD-PARTY-LICENSES.txt`)).text()).toContain("react-dom");
      const api = await fetch(`${dev.url}/api/v1/openapi.json`);
      expect(await api.json()).toMatchObject({ openapi: expect.stringMatching(/^3\./) });
    });

    it("delivers a message that its command line sent", async () => {
      await using receiver = await startReceiver();
      await sluice(
        "destinations",
        "create",
        "--name",
        "Hook",
        "--webhook",
        receiver.url,
        "--secret",
        "a secret",
      );
      await sluice("send", "track", "--event", "Signed Up", "--user", "42");
      expect(JSON.parse(await receiver.next())).toMatchObject({
        type: "track",
        event: "Signed Up",
        userId: "42",
      });
      const { stdout } = await sluice("doctor", "--json");
      expect(JSON.parse(stdout)).toBeDefined();
    });

    it("reads a TypeScript file of the user, and computes audiences in a thread of its own", async () => {
      await writeFile(
        join(folder, "empty/sluice.config.ts"),
        `const name: string = "Buyers";
export default { audiences: [{ name, condition: { kind: "trait", trait: "plan", is: "equals", value: "pro" } }] };\n`,
      );
      const { stdout } = await sluice("apply");
      expect(stdout).toContain("Buyers");
      expect((await sluice("audiences", "list")).stdout).toContain("Buyers");
      // The thread answers, whether it has read the message yet or not.
      const { stdout: found, stderr } = await sluice("profiles", "get", "42", "--json").catch(
        (error) => error,
      );
      expect(`${found}${stderr}`).toMatch(/"42"|"not_found"/);
    });

    it("runs a transformation in the thread of its sandbox", async () => {
      const file = join(folder, "empty/keep.ts");
      await writeFile(file, "export default (message: object) => ({ ...message, kept: true });\n");
      await writeFile(join(folder, "empty/message.json"), '{"messageId":"m-1","event":"Paid"}');
      const { stdout } = await sluice("transformations", "test", "--file", file, "--message", "message.json");
      expect(stdout).toContain("m-1  changed\n  + kept: true\n");
    });

    it("sends email by a package in the folder where it starts", async () => {
      await using server = await smtpServer();
      const settings = {
        ...{ host: "127.0.0.1", port: server.port, security: "none" },
        ...{ from: "sluice@example.com", to: ["ops@example.com"] },
      };
      await sluice("destinations", "create", "--type", "email", "--settings", JSON.stringify(settings));
      await sluice("destinations", "test", "Email");
      expect(server.mails[0]).toMatchObject({ to: ["<ops@example.com>"] });
    });

    it("keeps every accepted message over SIGTERM, and writes nothing next to itself", async () => {
      const accepted = await Promise.all(
        Array.from({ length: 50 }, (_, i) => dev.send({ type: "track", event: "Kept", userId: `u${i}` })),
      );
      expect(accepted.every((status) => status === 200)).toBe(true);
      expect(await dev.stop()).toBe(0);
      dev = await startDev(executable, join(folder, "empty"));
      const { stdout } = await sluice("messages", "list", "event:Kept", "--limit", "100", "--json");
      expect(stdout.match(/"u\d+"/g)?.length).toBeGreaterThanOrEqual(50);
      expect(readdirSync(join(folder, "bin")).sort()).toEqual(["sluice", "sluice.THIRD-PARTY-LICENSES.txt"]);
    });
  },
);

/** No program is found, so the executable cannot use a Node.js of the machine. */
const environment = (folder: string) => ({
  ...{ PATH: "/nowhere", HOME: folder, NO_COLOR: "1" },
  SLUICE_DESTINATIONS: "@sluice/destination-email",
});

interface Dev {
  readonly url: string;
  send(message: object): Promise<number>;
  /** Resolves with the exit code. */
  stop(): Promise<number | null>;
}

async function startDev(executable: string, cwd: string): Promise<Dev> {
  const child: ChildProcess = spawn(executable, ["dev", "--port", "0", "--json"], {
    cwd,
    env: environment(cwd),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout as NonNullable<typeof child.stdout>)[Symbol.asyncIterator]();
  const { value } = await lines.next();
  if (value === undefined) throw new Error("the executable ended");
  const { url, writeKey } = JSON.parse(value);
  return {
    url,
    async send(message) {
      const { status } = await fetch(`${url}/v1/track`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`${writeKey}:`)}`, "content-type": "application/json" },
        body: JSON.stringify(message),
      });
      return status;
    },
    async stop() {
      if (child.exitCode !== null) return child.exitCode;
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      return (await ended)[0];
    },
  };
}

/** A webhook that answers 200 and passes on bodies. */
async function startReceiver() {
  const bodies: string[] = [];
  let arrived = (): void => {};
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      response.end();
      bodies.push(body);
      arrived();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async next(): Promise<string> {
      while (bodies.length === 0)
        await new Promise<void>((resolve) => {
          arrived = resolve;
        });
      return bodies.shift() as string;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
