import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startCollector } from "../../src/collector.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

let directory: string;
let umask: number;
const lines: { [field: string]: unknown }[] = [];
beforeEach(() => {
  umask = process.umask(0o022);
  directory = mkdtempSync(join(tmpdir(), "sluice-modes-"));
  chmodSync(directory, 0o755);
  lines.length = 0;
});
afterEach(() => {
  process.umask(umask);
  rmSync(directory, { recursive: true });
});

const start = (mode: "dev" | "production" = "dev") =>
  startCollector({
    mode,
    host: "127.0.0.1",
    port: 0,
    dataDirectory: directory,
    logger: createLogger({ level: "warn", write: (line) => lines.push(JSON.parse(line)) }),
  });

/** The modes of everything in the data folder, by path. */
function modes(folder = directory, prefix = ""): { [path: string]: string } {
  return Object.fromEntries(
    readdirSync(folder).flatMap((name) => {
      const found = lstatSync(join(folder, name));
      const own = [`${prefix}${name}`, (found.mode & 0o777).toString(8)];
      return [
        own,
        ...(found.isDirectory() ? Object.entries(modes(join(folder, name), `${prefix}${name}/`)) : []),
      ];
    }),
  );
}

/** Makes a message, a file destination that gets it, and a profile. */
async function use({ url, firstRun }: Awaited<ReturnType<typeof start>>): Promise<void> {
  const { adminToken, writeKey, sourceId } = firstRun ?? {};
  const headers = { authorization: `Bearer ${adminToken}`, "content-type": "application/json" };
  const made = await fetch(`${url}/api/v1/destinations`, {
    method: "POST",
    headers,
    body: JSON.stringify({
      type: "file",
      sourceIds: [sourceId],
      settings: { fileName: "out.jsonl" },
      enabled: true,
    }),
  });
  expect(made.status).toBe(201);
  const basic = `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`;
  const sent = await fetch(`${url}/v1/identify`, {
    method: "POST",
    headers: { authorization: basic },
    body: JSON.stringify({ userId: "u1", traits: { plan: "pro" }, messageId: "m1" }),
  });
  expect(sent.status).toBe(200);
  const waited = await fetch(`${url}/api/v1/profiles/u1`, { headers });
  expect(waited.status).toBe(200);
}

test("only the owner can read the files, in a folder that everybody can list", async () => {
  const collector = await start();
  await use(collector);
  const running = modes();
  await collector.close(5_000);
  expect(Object.keys(running)).toEqual(
    expect.arrayContaining([
      "sluice.db",
      "entries.log",
      "sluice.db-wal",
      "profiles.db",
      "secret.key",
      "dev.json",
      "exports",
    ]),
  );
  const closed = modes();
  expect(closed["exports/out.jsonl"]).toBe("600");
  for (const [path, mode] of [...Object.entries(running), ...Object.entries(closed)])
    expect([path, mode]).toEqual([path, path === "exports" ? "700" : "600"]);
  expect(lines).toEqual([]);
});

test("at start, other users' access to files is removed and logged", async () => {
  const first = await start("production");
  await first.close(0);
  mkdirSync(join(directory, "exports"), { recursive: true });
  const open = [
    "sluice.db",
    "profiles.db",
    "secret.key",
    "admin-token",
    "exports/out.jsonl",
    "exports/out.jsonl.1",
  ];
  for (const file of ["exports/out.jsonl", "exports/out.jsonl.1", "sluice.db.damaged-1"])
    writeFileSync(join(directory, file), "");
  for (const file of [...open, "sluice.db.damaged-1"]) chmodSync(join(directory, file), 0o644);
  chmodSync(join(directory, "exports"), 0o755);
  // Other files in the folder are not touched.
  writeFileSync(join(directory, "notes.txt"), "");
  chmodSync(join(directory, "notes.txt"), 0o644);

  const second = await start("production");
  await second.close(0);
  const closed = modes();
  for (const file of [...open, "sluice.db.damaged-1"]) expect([file, closed[file]]).toEqual([file, "600"]);
  expect([closed.exports, closed["notes.txt"]]).toEqual(["700", "644"]);
  expect(lines).toMatchObject([
    { level: "warn", folder: directory, files: [...open, "exports", "sluice.db.damaged-1"].sort() },
  ]);
  lines.length = 0;
  await (await start("production")).close(0);
  expect(lines).toEqual([]);
});
