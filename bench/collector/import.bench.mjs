// How fast `sluice import` is: messages a second from the start of the command to its end, from JSON lines, from compressed JSON lines
// and from CSV, into a `sluice dev` of its own.
//
//   node bench/collector/import.bench.mjs [messages]      (after npm run build)
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { reportFigures } from "../figures.mjs";

const MESSAGES = Number(process.argv[2] ?? 100_000);
const SLUICE = fileURLToPath(new URL("../../packages/cli/bin/sluice.cjs", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "sluice-import-"));
const dev = spawn(
  process.execPath,
  [SLUICE, "dev", "--json", "--port", "0", "--data-dir", join(folder, ".sluice")],
  { stdio: ["ignore", "pipe", "ignore"] },
);
const { url, writeKey } = await new Promise((resolve) => {
  createInterface({ input: dev.stdout }).once("line", (line) => resolve(JSON.parse(line)));
});

const note = "x".repeat(300);
const timestamp = "2025-01-01T00:00:00.000Z";
const numbers = Array.from({ length: MESSAGES }, (_, i) => i);
const jsonl = (event) =>
  numbers
    .map((i) =>
      JSON.stringify({
        type: "track",
        event,
        userId: `user-${i % 1_000}`,
        timestamp,
        properties: { total: 19.99, order: i, note },
      }),
    )
    .join("\n");
const csv = [
  "type,event,userId,timestamp,properties.total,properties.order,properties.note",
  ...numbers.map((i) => `track,From CSV,user-${i % 1_000},${timestamp},19.99,${i},${note}`),
].join("\n");
const files = {
  "lines.jsonl": jsonl("From lines"),
  "lines.jsonl.gz": gzipSync(jsonl("Compressed")),
  "table.csv": csv,
};

for (const [name, content] of Object.entries(files)) {
  const file = join(folder, name);
  await writeFile(file, content);
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [SLUICE, "import", file, "--deliver", "--json", "--url", url, "--write-key", writeKey],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let out = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  await new Promise((resolve) => child.once("close", resolve));
  const seconds = (performance.now() - began) / 1_000;
  const { accepted, duplicates } = JSON.parse(out);
  const rate = Math.round((accepted - duplicates) / seconds).toLocaleString("en");
  reportFigures([{ name, unit: "messages/s", ours: (accepted - duplicates) / seconds }]);
  console.log(`${name.padEnd(16)} ${accepted} messages in ${seconds.toFixed(1)} s: ${rate}/s`);
}

dev.kill("SIGTERM");
await new Promise((resolve) => dev.once("exit", resolve));
await rm(folder, { recursive: true, force: true });
