/**
 * The minimum for delivery: an undici Pool, JSON and signature made for each message, nothing stored.
 * Arguments: url, count, connections. Prints one JSON object.
 */
import { createHmac } from "node:crypto";
import { Pool } from "undici";
import { makeBatch } from "./delivery-message.mjs";

const [, , url, count, connections] = process.argv;
const { origin, pathname } = new URL(url);
const pool = new Pool(origin, { connections: Number(connections), pipelining: 1 });
const total = Number(count);
const batches = Array.from({ length: 100 }, (_, index) => makeBatch(index * 100, 100));

let next = 0;
async function worker() {
  while (next < total) {
    const n = next++;
    const message = batches[Math.floor(n / 100) % 100][n % 100];
    const body = Buffer.from(JSON.stringify({ version: 1, ...message, timestamp: new Date().toISOString() }));
    const answer = await pool.request({
      path: pathname,
      method: "POST",
      headers: {
        "user-agent": "Sluice/1.0",
        "content-type": "application/json",
        "x-message-id": message.messageId,
        "x-attempt": "1",
        "x-signature": createHmac("sha1", "a shared secret").update(body).digest("hex"),
      },
      body,
    });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
  }
}

const startedMs = performance.now();
const cpuBefore = process.cpuUsage();
await Promise.all(Array.from({ length: Number(connections) }, worker));
const cpu = process.cpuUsage(cpuBefore);
process.stdout.write(
  `${JSON.stringify({
    seconds: (performance.now() - startedMs) / 1_000,
    cpuMicros: (cpu.user + cpu.system) / total,
  })}\n`,
);
await pool.close();
