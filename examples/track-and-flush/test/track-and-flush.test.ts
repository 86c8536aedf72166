import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const SCRIPT = fileURLToPath(new URL("../src/nightly-report.mjs", import.meta.url));

/** Answers like a collector, and keeps the numbers of the reports. */
async function fakeCollector() {
  const reports: number[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { batch } = JSON.parse(Buffer.concat(chunks).toString());
      reports.push(...batch.map((message: { properties: { report: number } }) => message.properties.report));
      response.writeHead(200, { "content-type": "application/json" }).end('{"success":true}');
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    reports,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function run(url: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [SCRIPT], {
    env: { ...process.env, SLUICE_WRITE_KEY: "key", SLUICE_URL: url, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  return { child, lines: createInterface({ input: child.stdout }), ended };
}

const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1);

it("delivers everything before it ends", async () => {
  await using collector = await fakeCollector();
  const { lines, ended } = run(collector.url, { REPORTS: "45", MS_PER_REPORT: "1" });
  const printed: string[] = [];
  lines.on("line", (line) => printed.push(line));
  expect((await ended)[0]).toBe(0);
  expect(collector.reports).toEqual(upTo(45));
  expect(printed.at(-1)).toBe("delivered 45, failed 0, refused 0");
});

it("delivers everything that it tracked before SIGTERM, and then ends by the signal", async () => {
  await using collector = await fakeCollector();
  const { child, lines, ended } = run(collector.url, { REPORTS: "100000" });
  let last = 0;
  for await (const line of lines) {
    last = Number(line);
    if (last === 33) child.kill("SIGTERM");
  }
  const [code, signal] = await ended;
  expect(signal ?? code).toBe(signal === null ? 143 : "SIGTERM");
  expect(last).toBeGreaterThanOrEqual(33);
  expect(collector.reports.slice(0, 33)).toEqual(upTo(33));
  expect(collector.reports).toEqual(upTo(collector.reports.length));
});
