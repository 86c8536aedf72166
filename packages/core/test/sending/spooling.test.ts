import { describe, expect, it } from "vitest";
import type { Batch } from "../../src/index.js";
import { memorySpool } from "../doubles/memory-spool.js";
import { ids, testEngine } from "../doubles/test-engine.js";

function batchOf(...messageIds: string[]): Batch {
  return messageIds.map((messageId) => {
    const json = JSON.stringify({ type: "track", userId: "u", event: "E", messageId });
    return { sequence: 0, messageId, json, bytes: json.length };
  });
}

describe("with a spool", () => {
  it("what retries could not deliver is kept, counted as spooled, and not reported as lost", async () => {
    const spool = memorySpool();
    const { engine, track, clock, errors } = testEngine({ maxRetries: 1 }, { script: [503], spool });
    track(2);
    const flushed = engine.flush();
    await clock.advance(100);
    expect(await flushed).toEqual({ delivered: 0, failed: 0, refused: 0, spooled: 2 });
    expect(engine.stats()).toEqual({
      delivered: 0,
      failed: 0,
      refused: 0,
      queued: 0,
      spooled: 2,
      queuedBytes: 0,
      peakQueued: 2,
      peakQueuedBytes: expect.any(Number),
    });
    expect(errors).toEqual([]);
    expect(spool.batches.flat().map(({ messageId }) => messageId)).toEqual(ids(2));
  });

  it("what the server refuses is not kept", async () => {
    const spool = memorySpool();
    const { engine, track, errors } = testEngine({}, { script: [400], spool });
    track(2);
    expect(await engine.flush()).toEqual({ delivered: 0, failed: 2, refused: 0, spooled: 0 });
    expect(spool.messages).toBe(0);
    expect(errors).toHaveLength(1);
  });

  it("messages of an earlier process are sent first, and newer ones behind them", async () => {
    const spool = memorySpool([batchOf("old1", "old2"), batchOf("old3")]);
    const { engine, track, transport, runDue } = testEngine({}, { spool });
    await runDue();
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([["old1", "old2"]]);
    track(2);
    const flushed = engine.flush();
    await runDue();
    expect(transport.requests).toHaveLength(1);
    for (let i = 0; i < 3; i++) {
      transport.requests[i]?.answer(200);
      await runDue();
    }
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([
      ["old1", "old2"],
      ["old3"],
      ids(2),
    ]);
    expect(await flushed).toMatchObject({ spooled: 2 });
    expect(engine.stats()).toEqual({
      delivered: 5,
      failed: 0,
      refused: 0,
      queued: 0,
      spooled: 0,
      queuedBytes: 0,
      peakQueued: 2,
      peakQueuedBytes: expect.any(Number),
    });
  });

  it("tries again with growing delays until the server is back", async () => {
    const spool = memorySpool([batchOf("old1")]);
    const { clock, transport, engine, runDue } = testEngine(
      { maxRetries: 0 },
      { script: [503, 503, 503, 200], spool },
    );
    await runDue();
    expect(transport.requests).toHaveLength(1);
    await clock.advance(900);
    await runDue();
    expect(transport.requests).toHaveLength(2);
    await clock.advance(1_800);
    await runDue();
    expect(transport.requests).toHaveLength(3);
    await clock.advance(3_600);
    await runDue();
    expect(engine.stats()).toMatchObject({ delivered: 1, spooled: 0 });
    expect(clock.pending).toBe(0);
  });

  it("what close() could not deliver by its deadline is kept", async () => {
    const spool = memorySpool();
    const { engine, track, clock, runDue, errors } = testEngine({ batchSize: 2 }, { spool });
    track(5);
    void engine.flush();
    await runDue();
    const closed = engine.close(1_000);
    await clock.advance(1_000);
    expect(await closed).toEqual({ delivered: 0, failed: 0, refused: 0, spooled: 5 });
    expect(spool.batches.flat().map(({ messageId }) => messageId)).toEqual(ids(5));
    expect(errors).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it("close() sends what is kept if the server accepts it", async () => {
    const spool = memorySpool([batchOf("old1"), batchOf("old2")]);
    const { engine, transport } = testEngine({}, { script: [200], spool });
    await engine.close(1_000);
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([["old1"], ["old2"]]);
    expect(spool.messages).toBe(0);
  });

  it("that is full, the loss is reported", async () => {
    const spool = memorySpool();
    spool.fill();
    const { engine, track, clock, errors } = testEngine({ maxRetries: 0 }, { script: [503], spool });
    track(2);
    const flushed = engine.flush();
    await clock.advance(0);
    expect(await flushed).toEqual({ delivered: 0, failed: 2, refused: 0, spooled: 0 });
    expect(errors).toMatchObject([{ status: -1, message: "full", detail: { code: "spool_failed" } }]);
  });
});
