import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ThreadClient } from "../src/thread-client.js";

const DEADLINE_MS = 100;
/** How long the thread has to open, in milliseconds. */
const OPENING_MS = 10_000;

let clock: ManualClock;
let client: ThreadClient;
let started: Worker[];
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const note = (worker: Worker): void => void started.push(worker);

beforeEach(() => {
  clock = manualClock();
  started = [];
  process.on("worker", note);
  client = new ThreadClient({ memoryBytes: 16 * 1_024 * 1_024, maxSandboxes: 1, idleMs: 5_000, clock });
});
afterEach(async () => {
  process.off("worker", note);
  await client.close();
});

const check = () =>
  client.call((thread) => thread.call("check", ["export default (m) => m", "javascript"]), DEADLINE_MS);

it("a call whose answer comes with the deadline leaves no thread that ends to the next one", async () => {
  const late = await client.call(async (thread) => {
    const answer = await thread.call("check", ["export default (m) => m", "javascript"]);
    await clock.advance(OPENING_MS);
    return answer;
  }, DEADLINE_MS);
  expect(late).toEqual({ ok: true });
  expect(client.isRunning).toBe(false);
  expect(await check()).toEqual({ ok: true });
  expect(started).toHaveLength(2);
});

it("a call that fails by itself ends its thread, and the next one has another", async () => {
  const failed = client.call(async () => Promise.reject(new Error("it cannot be sent")), DEADLINE_MS);
  await expect(failed).rejects.toMatchObject({ failure: { code: "crashed" } });
  expect(client.isRunning).toBe(false);
  while (started.length === 0) await turn();
  const [first] = started;
  if (first?.threadId !== -1) await once(first as Worker, "exit");
  expect(await check()).toEqual({ ok: true });
  expect(started).toHaveLength(2);
});

it("a second call waits for the first, and takes its thread", async () => {
  expect(await Promise.all([check(), check()])).toEqual([{ ok: true }, { ok: true }]);
  expect(started).toHaveLength(1);
});

it("a thread without work ends in time, unless a call comes before", async () => {
  await check();
  await clock.advance(4_999);
  await check();
  await clock.advance(4_999);
  expect(client.isRunning).toBe(true);
  await clock.advance(1);
  expect(client.isRunning).toBe(false);
  expect(await check()).toEqual({ ok: true });
  expect(started).toHaveLength(2);
});

it("a thread that ends without work is not used any more", async () => {
  await check();
  await started[0]?.terminate();
  expect(client.isRunning).toBe(false);
  expect(await check()).toEqual({ ok: true });
});

it("closing ends the call that runs and those that wait, and a second time nothing more", async () => {
  const calls = [check(), check()].map((call) => call.catch(({ failure }) => failure.code));
  while (started.length === 0) await turn();
  await Promise.all([client.close(), client.close()]);
  expect(await Promise.all(calls)).toEqual(["closed", "closed"]);
  await expect(check()).rejects.toMatchObject({ failure: { code: "closed" } });
  expect(started).toHaveLength(1);
});
