import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import type { Engine, Spool } from "../src/index.js";
import { memorySpool } from "./doubles/memory-spool.js";
import { batchOf } from "./doubles/scripted-sender.js";
import { ids, testEngine } from "./doubles/test-engine.js";

describe("a disabled client", () => {
  it("withholds every call: counted as disabled, neither refused nor delivered, and no error", async () => {
    const { engine, transport, errors, track, runDue } = testEngine({ disable: true });
    expect(engine.take("track", { userId: "u", event: "E", messageId: "own" })).toEqual({
      accepted: false,
      messageId: "own",
      reason: "disabled",
    });
    track(2);
    expect(await engine.flush()).toEqual({ delivered: 0, failed: 0, refused: 0 });
    await runDue();
    expect(transport.requests).toEqual([]);
    expect(errors).toEqual([]);
    expect(engine.stats()).toEqual({
      delivered: 0,
      failed: 0,
      refused: 0,
      queued: 0,
      disabled: 3,
      queuedBytes: 0,
      peakQueued: 0,
      peakQueuedBytes: 0,
    });
  });

  it("accepts calls again after setEnabled(true), and withholds them after setEnabled(false)", async () => {
    const { engine, transport, track, runDue } = testEngine({ disable: true }, { script: [200] });
    track();
    engine.setEnabled(true);
    track();
    engine.setEnabled(false);
    track();
    void engine.flush();
    await runDue();
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([["m2"]]);
    expect(engine.stats()).toMatchObject({ delivered: 1, disabled: 2 });
  });

  it("sends what was queued before", async () => {
    const { engine, transport, track, runDue } = testEngine({}, { script: [200] });
    track(3);
    engine.setEnabled(false);
    const flushed = engine.flush();
    await runDue();
    expect(transport.requests[0]?.messageIds).toEqual(ids(3));
    expect(await flushed).toMatchObject({ delivered: 3 });
  });

  it("gives up what is queued with discardQueued, and reports it", async () => {
    const { engine, transport, errors, track, runDue } = testEngine();
    track(20);
    await runDue();
    expect(transport.requests).toHaveLength(1);
    track(3);
    engine.setEnabled(false, true);
    await runDue();
    expect(transport.requests[0]?.signal.aborted).toBe(true);
    expect(transport.requests).toHaveLength(1);
    expect(errors.map(({ detail }) => [detail.code, detail.messages.length])).toEqual([
      ["discarded", 20],
      ["discarded", 3],
    ]);
    expect(engine.stats()).toMatchObject({ failed: 23, queued: 0 });
  });

  it("sends what is tracked after discardQueued and setEnabled(true)", async () => {
    const { engine, transport, track, runDue } = testEngine({}, { script: [200] });
    track();
    engine.setEnabled(false, true);
    engine.setEnabled(true);
    track();
    const flushed = engine.flush();
    await runDue();
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([["m2"]]);
    expect(await flushed).toMatchObject({ delivered: 1 });
  });

  it("says `closed` after close()", async () => {
    const { engine } = testEngine({ disable: true });
    await engine.close(1_000);
    engine.setEnabled(true);
    expect(engine.take("track", { userId: "u", event: "E" })).toMatchObject({ reason: "closed" });
  });
});

describe("a disabled client with a spool", () => {
  it("leaves the messages of earlier processes on disk until it is enabled", async () => {
    const spool = memorySpool([batchOf("left")]);
    const { engine, transport, runDue } = testEngine({ disable: true }, { script: [200], spool });
    await runDue();
    expect(transport.requests).toEqual([]);
    engine.setEnabled(true);
    await runDue();
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([["left"]]);
    expect(spool.messages).toBe(0);
  });

  it("removes them with discardQueued, also what it is sending from the spool", async () => {
    const spool = memorySpool([batchOf("one"), batchOf("two")]);
    const { engine, transport, errors, track, runDue } = testEngine({}, { spool });
    await runDue();
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([["one"]]);
    track();
    engine.setEnabled(false, true);
    await runDue();
    expect(transport.requests).toHaveLength(1);
    expect(spool.messages).toBe(0);
    expect(errors.flatMap(({ detail }) => detail.messages.map(({ messageId }) => messageId)).sort()).toEqual([
      "m1",
      "one",
      "two",
    ]);
    engine.setEnabled(true);
    track();
    void engine.flush();
    await runDue();
    expect(transport.requests.at(-1)?.messageIds).toEqual(["m2"]);
  });

  it("removes them while it waits for the next try", async () => {
    const spool = memorySpool([batchOf("one")]);
    const { engine, clock, errors, runDue } = testEngine({ maxRetries: 0 }, { script: ["fail"], spool });
    await runDue();
    expect(spool.messages).toBe(1);
    engine.setEnabled(false, true);
    await runDue();
    expect(spool.messages).toBe(0);
    expect(errors).toMatchObject([{ detail: { code: "discarded" } }]);
    await clock.advance(120_000);
    expect(clock.pending).toBe(0);
  });
});

describe("discarded messages", () => {
  it("are not kept for the next process if this one ends at once", () => {
    const { engine, errors, track } = testEngine({ batchSize: 2 });
    track(3);
    engine.setEnabled(false, true);
    engine.setEnabled(true);
    track(1);
    const kept: string[] = [];
    engine.endNow((batch) => {
      kept.push(...batch.map(({ messageId }) => messageId));
      return "kept";
    });
    expect(kept).toEqual(["m4"]);
    expect(errors.flatMap(({ detail }) => detail.messages.map(() => detail.code))).toEqual([
      "discarded",
      "discarded",
      "discarded",
    ]);
  });

  it("are not kept in the spool by a deadline that follows", async () => {
    const spool = memorySpool();
    const manual = manualClock();
    // The deadline passes before the discarded messages get their turn.
    const clock = {
      ...manual,
      after: (ms: number, task: () => void) => {
        if (ms > 0) return manual.after(ms, task);
        task();
        return () => {};
      },
    };
    const { engine, errors, track, runDue } = testEngine({}, { spool, clock: clock as ManualClock });
    track(1);
    engine.setEnabled(false, true);
    const closed = engine.close(0);
    await runDue();
    await closed;
    expect(spool.messages).toBe(0);
    expect(errors.map(({ detail }) => detail.code)).toEqual(["discarded"]);
  });

  it("do not take along what is accepted afterwards while the spool is being emptied", async () => {
    const memory = memorySpool([batchOf("one")]);
    let openDisk: () => void = () => {};
    const disk = new Promise<void>((resolve) => {
      openDisk = resolve;
    });
    const spool: Spool = {
      open: memory.open,
      append: memory.append,
      get messages() {
        return memory.messages;
      },
      oldest: async () => {
        await disk;
        return memory.oldest();
      },
      release: memory.release,
    };
    const { engine, errors, transport, track, runDue } = testEngine({ flushAt: 1 }, { spool, script: [200] });
    engine.setEnabled(false, true);
    engine.setEnabled(true);
    track();
    await runDue();
    openDisk();
    await runDue();
    expect(transport.requests.flatMap(({ messageIds }) => messageIds)).toContain("m1");
    expect(errors.flatMap(({ detail }) => detail.messages.map(({ messageId }) => messageId))).toEqual([
      "one",
    ]);
  });

  it("include those that a closing client still holds", async () => {
    const { engine, errors, track, runDue } = testEngine();
    track(2);
    const closed = engine.close(60_000);
    await runDue();
    engine.setEnabled(false, true);
    expect(await closed).toEqual({ delivered: 0, failed: 2, refused: 0 });
    expect(errors.map(({ detail }) => detail.code)).toEqual(["discarded"]);
  });

  it("are no surprise, so the line about losses does not count them", async () => {
    const { engine, warnings, track } = testEngine({ onError: undefined });
    track(2);
    engine.setEnabled(false, true);
    await engine.close(1_000);
    expect(warnings).toEqual([]);
  });
});

it.each<[name: string, end: (engine: Engine) => unknown, reason: string]>([
  ["closes", (engine) => engine.close(1_000), "closed"],
  ["disables", (engine) => engine.setEnabled(false), "disabled"],
])("a beforeSend function that %s the client lets nothing in", async (_, end, reason) => {
  const { engine, track, transport, runDue } = testEngine({
    flushAt: 1,
    beforeSend: (message) => {
      end(engine);
      return message;
    },
  });
  const { messageId, ...receipt } = engine.take("track", { userId: "u", event: "E" });
  expect(receipt).toEqual({ accepted: false, reason });
  track();
  await runDue();
  expect(transport.requests).toEqual([]);
  expect(engine.held).toBe(0);
});
