import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startCollector } from "../../src/collector.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

const LOADER = new URL("../../../../scripts/source-loader.mjs", import.meta.url).href;
const CHILD = fileURLToPath(new URL("./answerless-collector.ts", import.meta.url));

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-answerless-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

interface Ask {
  readonly path: string;
  readonly body?: object;
}

function ask(url: string, token: string, method: string, { path, body }: Ask): Promise<Response> {
  return fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "idempotency-key": "k-1" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** Asks a collector that is killed between the write and its answer. Resolves with the admin token when it is gone. */
async function loseTheAnswer(asked: Ask): Promise<string> {
  const child = spawn(process.execPath, ["--no-warnings", "--import", LOADER, CHILD, directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<NodeJS.Signals | null>((resolve) =>
    child.once("exit", (_code, signal) => resolve(signal)),
  );
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", () => reject(new Error("the collector ended before it was ready")));
  });
  const { url, adminToken } = JSON.parse(line) as { url: string; adminToken: string };
  await expect(ask(url, adminToken, "POST", asked)).rejects.toThrow();
  expect(await ended).toBe("SIGKILL");
  return adminToken;
}

/** The same collector as it comes back. */
async function comeBack() {
  const collector = await startCollector({
    mode: "dev",
    host: "127.0.0.1",
    port: 0,
    dataDirectory: directory,
    logger: createLogger({ level: "error" }),
  });
  return {
    url: collector.url,
    async [Symbol.asyncDispose]() {
      await collector.close(1_000);
    },
  };
}

describe("a create whose answer was lost because the collector was killed", () => {
  it.each([
    { path: "/sources", body: { name: "Shop" }, list: "/sources" },
    { path: "/destinations", body: { type: "console", name: "Desk" }, list: "/destinations" },
    {
      path: "/audiences",
      body: { name: "All", condition: { kind: "trait", trait: "a", is: "exists" }, destinationIds: [] },
      list: "/audiences",
    },
    { path: "/deletions", body: { userIds: ["ann"] }, list: "/deletions" },
  ])("is repeated with its key and made once: $path", async ({ path, body, list }) => {
    const token = await loseTheAnswer({ path, body });
    await using back = await comeBack();
    const readAll = async () => (await ask(back.url, token, "GET", { path: list })).json();
    const before = (await readAll()) as { items: { id: string }[] };

    const first = await ask(back.url, token, "POST", { path, body });
    const second = await ask(back.url, token, "POST", { path, body });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(first.headers.get("idempotent-replayed")).toBe("true");
    const made = (await first.json()) as { id: string };
    expect(await second.json()).toEqual(made);
    expect(before.items.map(({ id }) => id)).toContain(made.id);
    const after = (await readAll()) as { items: { id: string }[] };
    expect(after.items.map(({ id }) => id)).toEqual(before.items.map(({ id }) => id));

    const audit = (await (await ask(back.url, token, "GET", { path: "/audit" })).json()) as {
      items: { target?: string }[];
    };
    expect(audit.items.filter(({ target }) => target === made.id)).toHaveLength(1);
  });

  it("does not make a second token, and says that the first cannot be shown", async () => {
    const asked = { path: "/tokens", body: { name: "ci" } };
    const token = await loseTheAnswer(asked);
    await using back = await comeBack();
    expect((await ask(back.url, token, "POST", asked)).status).toBe(409);
    const { items } = (await (await ask(back.url, token, "GET", { path: "/tokens" })).json()) as {
      items: { name: string }[];
    };
    expect(items.filter(({ name }) => name === "ci")).toHaveLength(1);
  });

  it("is refused when another request comes with its key", async () => {
    const token = await loseTheAnswer({ path: "/sources", body: { name: "Shop" } });
    await using back = await comeBack();
    const other = await ask(back.url, token, "POST", { path: "/sources", body: { name: "Depot" } });
    expect(other.status).toBe(409);
  });
});
