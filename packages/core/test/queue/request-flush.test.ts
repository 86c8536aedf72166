import { expect, it, vi } from "vitest";
import { testEngine } from "../doubles/test-engine.js";

it("passes one flush a turn to waitUntil, which settles when the messages have ended", async () => {
  const kept: Promise<unknown>[] = [];
  const { transport, track, runDue } = testEngine({ waitUntil: (work) => kept.push(work) });
  track(3);
  await runDue();
  expect(kept).toHaveLength(1);
  expect(transport.requests[0]?.events).toEqual(["E1", "E2", "E3"]);
  transport.requests[0]?.answer(200);
  await runDue();
  track(1);
  await runDue();
  transport.requests[1]?.answer(200);
  expect(kept).toHaveLength(2);
  await expect(Promise.all(kept)).resolves.toMatchObject([{ delivered: 3 }, { delivered: 1 }]);
});

it("releases the request after 25 s and keeps the messages", async () => {
  const kept: Promise<unknown>[] = [];
  const { engine, clock, track } = testEngine({
    requestTimeoutMs: 60_000,
    waitUntil: (work) => kept.push(work),
  });
  track(1);
  await clock.advance(25_000);
  await expect(kept[0]).resolves.toMatchObject({ queued: 1 });
  expect(engine.held).toBe(1);
});

it("passes the flush to the waitUntil of a call instead", async () => {
  const [ofClient, ofCall] = [vi.fn(), vi.fn()];
  const { engine, runDue } = testEngine({ waitUntil: ofClient }, { script: [200] });
  engine.take("track", { userId: "u", event: "E" }, { waitUntil: ofCall });
  engine.take("track", { userId: "u", event: "E" }, { waitUntil: ofCall });
  await runDue();
  expect(ofClient).not.toHaveBeenCalled();
  expect(ofCall).toHaveBeenCalledTimes(1);
  expect(engine.stats()).toMatchObject({ delivered: 2 });
});

it.each([
  [
    "throws",
    () => {
      throw new Error("no request");
    },
  ],
  ["rejects", () => Promise.reject(new Error("no request"))],
])("warns once if waitUntil %s, and sends nevertheless", async (_, waitUntil) => {
  const { engine, warnings, track, runDue } = testEngine({ waitUntil }, { script: [200] });
  track(1);
  await runDue();
  track(1);
  await runDue();
  expect(engine.stats()).toMatchObject({ delivered: 2 });
  expect(warnings).toEqual([expect.stringContaining("no request")]);
});

it.each([undefined, null, "text", 5, {}, { waitUntil: "no function" }])(
  "ignores call options %j without a function",
  async (options) => {
    const { engine, warnings, runDue } = testEngine({ flushAt: 1 }, { script: [200] });
    engine.take("track", { userId: "u", event: "E" }, options);
    await runDue();
    expect(engine.stats()).toMatchObject({ delivered: 1 });
    expect(warnings).toEqual([]);
  },
);
