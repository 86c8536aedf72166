import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createLogger, startCollector } from "@sluice/collector";
import { afterAll, beforeAll, expect, it } from "vitest";
import { cli } from "../support/cli.js";

let directory: string;
const start = () =>
  startCollector({
    mode: "dev",
    host: "127.0.0.1",
    port: 0,
    dataDirectory: directory,
    logger: createLogger({ level: "error", write: () => {} }),
  });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-repair-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

it("removes damaged rows from a log, lists what is lost, and the collector starts again", async () => {
  // One start per message, because small commits of one start share a row.
  for (const event of ["One", "Two"]) {
    const before = await start();
    const authorization = `Basic ${Buffer.from(`${before.firstRun?.writeKey}:`).toString("base64")}`;
    const body = JSON.stringify({ type: "track", event, userId: "u1" });
    await fetch(`${before.url}/v1/track`, { method: "POST", headers: { authorization }, body });
    await before.close(1_000);
  }
  const database = new DatabaseSync(join(directory, "sluice.db"));
  database.exec(
    "UPDATE log_rows SET body = CAST(replace(CAST(body AS TEXT), 'One', 'Ome') AS BLOB) WHERE first = 0",
  );
  database.close();
  await expect(start()).rejects.toThrow(/offset 0 is damaged.*sluice repair/);

  const repairing = cli(["repair", "--data-dir", directory]);
  expect(await repairing.code).toBe(6);
  expect(repairing.out()).toContain(`read 2 log rows (1 message) in ${directory}`);
  expect(repairing.out()).toContain("offsets 0 to 0: 1 message lost");
  expect(repairing.err()).toContain("1 message was lost in 1 damaged place");
  const kept = join(directory, "damaged-rows.jsonl");
  expect(repairing.err()).toContain(`jq -r '.text // empty' ${kept} | jq`);
  expect(repairing.err()).toContain("npx sluice import again.jsonl");
  const line = JSON.parse(await readFile(kept, "utf8"));
  expect(line.text).toContain('"event":"Ome"');
  expect(line.messageIds).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);

  const after = await start();
  const refused = cli(["repair", "--data-dir", directory]);
  expect(await refused.code).toBe(1);
  expect(refused.err()).toContain("in use by another process");
  expect(refused.err()).toContain("Stop the collector that uses it first");
  await after.close(1_000);
  const again = cli(["repair", "--data-dir", directory, "--json"]);
  expect(await again.code).toBe(0);
  expect(JSON.parse(again.out())).toMatchObject({ damaged: [] });
  expect(await cli(["repair", "--data-dir", join(directory, "none")]).code).toBe(5);
});

it("does not offer to recover messages of which no byte is left", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-repair-"));
  const startHere = () =>
    startCollector({
      mode: "dev",
      host: "127.0.0.1",
      port: 0,
      dataDirectory: folder,
      logger: createLogger({ level: "error", write: () => {} }),
    });
  const before = await startHere();
  const authorization = `Basic ${Buffer.from(`${before.firstRun?.writeKey}:`).toString("base64")}`;
  const batch = Array.from({ length: 32 }, (_, i) => ({ type: "track", event: `Gone ${i}`, userId: "u1" }));
  await fetch(`${before.url}/v1/batch`, {
    method: "POST",
    headers: { authorization },
    body: JSON.stringify({ batch }),
  });
  await before.close(1_000);
  const file = join(folder, "sluice.db");
  const bytes = await readFile(file);
  const pageBytes = bytes.readUInt16BE(16);
  const page = Math.floor(bytes.indexOf("Gone 0") / pageBytes) * pageBytes;
  const handle = await open(file, "r+");
  await handle.write(Buffer.alloc(pageBytes), 0, pageBytes, page);
  await handle.close();

  const repairing = cli(["repair", "--data-dir", folder]);
  expect(await repairing.code).toBe(6);
  expect(repairing.out()).toContain("read 0 log rows (0 messages)");
  expect(repairing.out()).toContain("offsets 0 to 31: 32 messages lost, and nothing of them can be read");
  expect(repairing.out()).not.toContain("damaged-rows.jsonl");
  expect(repairing.err()).toContain("32 messages were lost in 1 damaged place");
  expect(repairing.err()).toContain(
    "Check the disk and the memory: they returned other data than was written.",
  );
  expect(repairing.err()).toContain("These messages cannot be read: restore a backup if you need them");
  expect(repairing.err()).not.toContain("jq");
  await rm(folder, { recursive: true, force: true });
});
