import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startCollector } from "../../src/collector.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-lost-key-"));
});
afterEach(() => rm(directory, { recursive: true }));

async function start() {
  const lines: string[] = [];
  const collector = await startCollector({
    mode: "dev",
    host: "127.0.0.1",
    port: 0,
    dataDirectory: directory,
    logger: createLogger({ write: (line: string) => void lines.push(line) }),
  });
  const ask = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${collector.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${collector.firstRun?.adminToken}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
    return { status: response.status, body: (await response.json()) as any };
  };
  return { ask, lines, [Symbol.asyncDispose]: () => collector.close(1_000) };
}

it("names the transformations whose secrets are lost with the key, and refuses a damaged key because of them", async () => {
  let id: string;
  {
    await using first = await start();
    const input = {
      name: "Hash",
      code: "export default (message) => message;",
      secrets: { KEY: "hush-hush" },
    };
    id = (await first.ask("POST", "/transformations", input)).body.id;
  }
  await writeFile(join(directory, "secret.key"), "");
  await expect(start()).rejects.toThrow(id);
  await rm(join(directory, "secret.key"));
  await using second = await start();
  expect(second.lines.join("\n")).toMatch(new RegExp(`secret key file was missing.*${id}`));
  // Code without its secrets is not run: the answer says what to do.
  const tested = await second.ask("POST", "/transformations/test", { id, messages: [{ event: "A" }] });
  expect(tested.status).toBe(400);
  expect(tested.body.message).toContain("enter the secret again");
  await second.ask("PATCH", `/transformations/${id}`, { secrets: { KEY: "again" } });
  const mended = await second.ask("POST", "/transformations/test", { id, messages: [{ event: "A" }] });
  expect(mended.body.results).toMatchObject([{ result: "same" }]);
});
