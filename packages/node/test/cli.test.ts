import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type LoopbackCollector, loopbackCollector } from "@sluice/testing";
import { afterEach, beforeEach, expect, it } from "vitest";

let collector: LoopbackCollector;
beforeEach(async () => {
  collector = await loopbackCollector();
});
afterEach(async () => {
  await collector.close();
});

function run(...args: string[]): Promise<{ code: number | null; result: unknown; stdout: string }> {
  const cli = fileURLToPath(new URL("../e2e/cli.mjs", import.meta.url));
  const child = spawn(process.execPath, [cli, ...args], { stdio: ["ignore", "pipe", "ignore"] });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  return new Promise((resolve) => {
    child.on("close", (code) =>
      resolve({ code, result: JSON.parse(stdout.trim().split("\n").at(-1) ?? ""), stdout }),
    );
  });
}

const input = (sequences: object[], config: object = {}) =>
  JSON.stringify({ writeKey: "k", apiHost: collector.url, sequences, config });

it("runs sequences and prints the batches that were accepted", async () => {
  const event = (i: number) => ({ type: "track", event: `E${i}`, userId: "u", properties: { i } });
  const sequences = [
    { delayMs: 0, events: [event(1), event(2)] },
    { delayMs: 50, events: [{ type: "identify", userId: "u", traits: { a: 1 } }] },
  ];
  expect(await run("--input", input(sequences, { flushAt: 2, flushInterval: 60_000 }))).toMatchObject({
    code: 0,
    result: { success: true, sentBatches: 2 },
  });
  expect(collector.messages.map(({ type }) => type)).toEqual(["track", "track", "identify"]);
});

it("fails if a message was lost", async () => {
  collector.faults.always({ status: 400 });
  const end = await run("--input", input([{ events: [{ type: "track", event: "E", userId: "u" }] }]));
  expect(end).toMatchObject({
    code: 1,
    result: { success: false, sentBatches: 0, error: expect.stringContaining("400") },
  });
});

it("retries as often as the input says", async () => {
  collector.faults.always({ status: 503 });
  const end = await run(
    "--input",
    input([{ events: [{ type: "track", event: "E", userId: "u" }] }], { maxRetries: 2, timeout: 0.5 }),
  );
  expect(end).toMatchObject({ code: 1, result: { success: false } });
  expect(collector.requests.map(({ headers }) => headers["x-retry-count"])).toEqual([undefined, "1", "2"]);
});

it("fails for invalid events, unknown calls and unreadable input", async () => {
  expect(await run("--input", input([{ events: [{ type: "track", userId: "u" }] }]))).toMatchObject({
    code: 1,
  });
  expect(await run("--input", input([{ events: [{ type: "constructor" }] }]))).toMatchObject({ code: 1 });
  expect(await run("--input", "{")).toMatchObject({ code: 1, result: { success: false, sentBatches: 0 } });
  expect(await run()).toMatchObject({ code: 1, result: { success: false } });
});
