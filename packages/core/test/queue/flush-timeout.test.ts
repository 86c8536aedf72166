import { expect, it } from "vitest";
import { testEngine } from "../doubles/test-engine.js";

it("resolves at the timeout with what is left, which is still delivered later", async () => {
  const { engine, transport, clock, track, holds, runDue } = testEngine();
  track(3);
  const flushed = engine.flush(2_000);
  await clock.advance(2_000);
  expect(await flushed).toEqual({ delivered: 0, failed: 0, refused: 0, queued: 3 });
  expect(holds()).toBe(0);
  transport.requests[0]?.answer(200);
  await runDue();
  expect(engine.stats()).toMatchObject({ delivered: 3, queued: 0 });
});

it("counts what has ended before the timeout", async () => {
  const { engine, transport, clock, track, runDue } = testEngine({ batchSize: 2 });
  track(3);
  const flushed = engine.flush(2_000);
  await runDue();
  transport.requests[0]?.answer(200);
  await clock.advance(2_000);
  expect(await flushed).toEqual({ delivered: 2, failed: 0, refused: 0, queued: 1 });
});

it("resolves with 0 queued if everything ends in time, and leaves no timer", async () => {
  const { engine, transport, clock, track, runDue } = testEngine();
  track(1);
  const flushed = engine.flush(2_000);
  await runDue();
  transport.requests[0]?.answer(200);
  expect(await flushed).toEqual({ delivered: 1, failed: 0, refused: 0, queued: 0 });
  await runDue();
  expect(clock.pending).toBe(0);
  expect(await engine.flush(0)).toEqual({ delivered: 0, failed: 0, refused: 0, queued: 0 });
});
