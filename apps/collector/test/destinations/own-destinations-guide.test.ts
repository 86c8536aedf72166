import { readFileSync } from "node:fs";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { contractOf } from "@sluice/destination/contract";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { loadPackages } from "../../src/destinations/defined/load-packages.js";
import { startTestCollector } from "../../src/testing.js";

const ROOT = join(import.meta.dirname, "../../../..");
const page = readFileSync(join(ROOT, "docs/guide/own-destinations.md"), "utf8");
const [, example = ""] = /```js\n(import \{ once \}[\s\S]*?)```/.exec(page) ?? [];

/** A server of the example's kind: a line in, `ok` out. */
const lines: string[] = [];
const server = createServer((socket) => {
  socket.on("data", (line) => {
    lines.push(String(line));
    socket.end("ok\n");
  });
  socket.on("error", () => {});
});
const folders: string[] = [];
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
});
const portOf = (): number => (server.address() as AddressInfo).port;

async function loadExample() {
  const folder = await mkdtemp(join(tmpdir(), "sluice-guide-"));
  folders.push(folder);
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  // Sources instead of the built package, so that the test needs no build.
  const source = join(ROOT, "packages/destination/src/index.ts");
  await writeFile(
    join(folder, "tally.mjs"),
    example.replace('"@sluice/destination"', JSON.stringify(source)),
  );
  const { loaded, unusable } = await loadPackages(["./tally.mjs"], folder, []);
  expect(unusable).toEqual([]);
  const [destination] = loaded;
  if (destination === undefined) throw new Error("the guide has no example");
  return destination;
}

describe("the guide's example", async () => {
  const destination = await loadExample();
  const settings = (port: number) => ({ host: "127.0.0.1", port, token: "t0ken" });
  const checks = contractOf({
    destination,
    settings: async () => settings(portOf()),
    unreachable: async () => settings(1),
    arrived: async () => lines.map((line) => line.split(" ")[1] ?? ""),
  });
  it.each(checks)("$name", ({ run }) => run());

  it("delivers in a collector", async () => {
    const collector = await startTestCollector({ destinations: [destination], allowTargets: ["127.0.0.1"] });
    onTestFinished(() => collector.close());
    const { id } = (await collector.api("POST", "/destinations", {
      type: "tally",
      settings: settings(portOf()),
    })) as { id: string };
    expect(await collector.api("POST", `/destinations/${id}/test`, {})).toMatchObject({ state: "delivered" });
    expect(lines.at(-1)).toMatch(/^t0ken test-.* track\n$/);
  });
});
