import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";

const run = promisify(execFile);
const script = (name: string): string => fileURLToPath(new URL(`../src/${name}.mjs`, import.meta.url));

/** Answers like a collector, and keeps the ids. The first `failures` requests are answered with 503. */
async function fakeCollector({ failures = 0, refused = "" } = {}) {
  const ids: string[] = [];
  let failed = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (failed < failures) {
        failed += 1;
        response.writeHead(503).end();
        return;
      }
      const { batch } = JSON.parse(Buffer.concat(chunks).toString()) as { batch: { messageId: string }[] };
      const rejected = batch.flatMap(({ messageId }, index) =>
        messageId === refused ? [{ index, code: "code", message: "text" }] : [],
      );
      ids.push(...batch.map(({ messageId }) => messageId).filter((id) => id !== refused));
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ success: true, rejected }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    ids,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const folder = mkdtempSync(join(tmpdir(), "backfill-"));
const path = join(folder, "orders.jsonl");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const expected = (count: number): string[] => Array.from({ length: count }, (_, i) => `order-${i + 1}`);

async function backfill(url: string, count: number, env: Record<string, string> = {}) {
  const { stdout: orders } = await run(process.execPath, [script("make-orders"), String(count)], {
    maxBuffer: 100_000_000,
  });
  writeFileSync(path, orders);
  return run(process.execPath, [script("backfill"), path], {
    env: { ...process.env, SLUICE_WRITE_KEY: "key", SLUICE_URL: url, ...env },
  });
}

it("sends more rows than the queue holds, each once and in order", async () => {
  await using collector = await fakeCollector();
  const { stdout, stderr } = await backfill(collector.url, 25_000);
  expect(stderr).toBe("");
  expect(stdout).toContain("delivered 25000, lost 0\nat most 10000 messages in the queue");
  expect(collector.ids).toEqual(expected(25_000));
});

it("sends every row with several requests in flight, after an outage", async () => {
  await using collector = await fakeCollector({ failures: 20 });
  const { stdout } = await backfill(collector.url, 12_000, { MAX_IN_FLIGHT: "8" });
  expect(stdout).toContain("delivered 12000, lost 0");
  expect(new Set(collector.ids)).toEqual(new Set(expected(12_000)));
});

it("lists the rows that the collector refuses, and ends with 1", async () => {
  await using collector = await fakeCollector({ refused: "order-7" });
  await expect(backfill(collector.url, 10)).rejects.toMatchObject({ code: 1 });
  expect(readFileSync(`${path}.lost`, "utf8")).toBe("order-7\n");
  expect(collector.ids).toHaveLength(9);
});
