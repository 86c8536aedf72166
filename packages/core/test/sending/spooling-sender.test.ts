import { getEventListeners } from "node:events";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import type { FinalOutcome, SendReport, Split } from "../../src/sending/outcome.js";
import { abandonedBy, DeadlineReached } from "../../src/sending/pauses.js";
import { SpoolingSender } from "../../src/sending/spooling-sender.js";
import { memorySpool } from "../doubles/memory-spool.js";
import { batchOf, scriptedSender } from "../doubles/scripted-sender.js";

const DELIVERED = { kind: "delivered", status: 200, rejected: [] } as const;
const EXHAUSTED = { kind: "exhausted", status: 503, reason: "down", attempts: 3 } as const;
const open = new AbortController().signal;

function spooling(script: Parameters<typeof scriptedSender<FinalOutcome | Split>>[0], spool = memorySpool()) {
  const clock = manualClock({ startMs: 0 });
  const inner = scriptedSender<FinalOutcome | Split>(script, clock.turn);
  const sent: SendReport[] = [];
  const sender = new SpoolingSender(inner, {
    spool,
    clock,
    onSent: (report) => sent.push(report),
    onDamaged: () => {},
  });
  /** Moves the clock, then lets every call of the spool end that follows. */
  const pass = async (...steps: readonly number[]): Promise<void> => {
    for (const ms of steps) {
      await clock.advance(ms);
      for (let turn = 0; turn < 20; turn++) await clock.advance(0);
    }
  };
  return { clock, inner, spool, sent, sender, pass };
}

const idsIn = (batches: readonly (readonly { readonly messageId: string }[])[]): string[] =>
  batches.map((batch) => batch.map(({ messageId }) => messageId).join(""));

describe("SpoolingSender", () => {
  it.each<[name: string, outcome: FinalOutcome, isKept: boolean]>([
    ["delivered", DELIVERED, false],
    ["rejected", { kind: "rejected", status: 400, reason: "no" }, false],
    ["exhausted", EXHAUSTED, true],
    ["abandoned", { kind: "abandoned", deadline: "close_deadline" }, true],
  ])("keeps only what may still be delivered: %s", async (_name, outcome, isKept) => {
    const { sender, spool } = spooling([outcome]);
    expect(await sender.send(batchOf("a"), open)).toEqual(isKept ? { kind: "spooled" } : outcome);
    expect(idsIn(spool.batches)).toEqual(isKept ? ["a"] : []);
    await sender.finish(AbortSignal.abort());
  });

  it("keeps only the undelivered parts of a split batch", async () => {
    const parts = [
      { batch: batchOf("a"), outcome: DELIVERED },
      { batch: batchOf("b"), outcome: EXHAUSTED },
    ];
    const { sender, spool } = spooling([{ kind: "split", parts }, EXHAUSTED]);
    expect(await sender.send(batchOf("a", "b"), open)).toMatchObject({
      kind: "split",
      parts: [{ outcome: DELIVERED }, { outcome: { kind: "spooled" } }],
    });
    expect(idsIn(spool.batches)).toEqual(["b"]);
    await sender.finish(AbortSignal.abort());
  });

  it("keeps a batch without sending it once its deadline has passed", async () => {
    const wereAborted: boolean[] = [];
    const { sender, spool } = spooling([
      (signal) => {
        wereAborted.push(signal.aborted);
        return EXHAUSTED;
      },
    ]);
    const signal = AbortSignal.abort(new DeadlineReached("close_deadline"));
    expect(await sender.send(batchOf("a"), signal)).toEqual({ kind: "spooled" });
    expect(spool.messages).toBe(1);
    await sender.finish(open);
    // It was sent from the spool, under a signal of its own.
    expect(wereAborted).not.toContain(true);
  });

  it("puts new batches behind kept ones, and sends them from there in order", async () => {
    const { sender, inner, spool, sent, clock, pass } = spooling([EXHAUSTED, EXHAUSTED, DELIVERED]);
    expect(await sender.send(batchOf("a"), open)).toEqual({ kind: "spooled" });
    await pass(0);
    expect(await sender.send(batchOf("b"), open)).toEqual({ kind: "spooled" });
    expect(idsIn(spool.batches)).toEqual(["a", "b"]);
    await pass(0);
    expect(inner.sends).toHaveLength(2);
    await pass(900);
    expect(inner.sends.map(({ messageIds }) => messageIds.join(""))).toEqual(["a", "a", "a", "b"]);
    expect(idsIn(sent.map(({ batch }) => batch))).toEqual(["a", "b"]);
    expect([spool.messages, clock.pending]).toEqual([0, 0]);
  });

  it("tries again later and later, and from the first delay after a success", async () => {
    const { sender, inner, clock, pass } = spooling(
      [EXHAUSTED, EXHAUSTED, EXHAUSTED, DELIVERED, EXHAUSTED],
      memorySpool([batchOf("a")]),
    );
    sender.start();
    const delays: (number | undefined)[] = [];
    for (const ms of [0, 900, 1_800, 3_600]) {
      await pass(ms);
      delays.push(clock.nextDueMs && clock.nextDueMs - clock.monotonic());
    }
    expect([delays, inner.sends.length]).toEqual([[900, 1_800, 3_600, undefined], 4]);
    await sender.send(batchOf("b"), open);
    await pass(0);
    expect(inner.sends).toHaveLength(6);
    await pass(900);
    expect(inner.sends).toHaveLength(7);
    await sender.finish(AbortSignal.abort());
    expect(clock.pending).toBe(0);
  });

  it("tries once more at finish(), without waiting for the timer", async () => {
    const { sender, spool, clock, pass } = spooling([EXHAUSTED, DELIVERED], memorySpool([batchOf("a")]));
    sender.start();
    await pass(0);
    expect([spool.messages, clock.pending]).toEqual([1, 1]);
    await sender.finish(open);
    expect([spool.messages, clock.pending, clock.now()]).toEqual([0, 0, 0]);
  });

  it("keeps batches after finish(), and sends none of them", async () => {
    const { sender, inner, spool, clock } = spooling([EXHAUSTED]);
    await sender.finish(open);
    await sender.send(batchOf("a"), open);
    await clock.advance(3_600_000);
    expect([inner.sends.length, spool.messages, clock.pending]).toEqual([1, 1, 0]);
  });

  it("sends what was kept while the spool was being emptied of what was discarded", async () => {
    const { sender, inner, spool, sent, pass } = spooling(
      [EXHAUSTED, DELIVERED],
      memorySpool([batchOf("old1"), batchOf("old2"), batchOf("old3")]),
    );
    await pass(0);
    sender.discard();
    expect(await sender.send(batchOf("a"), open)).toEqual({ kind: "spooled" });
    expect(await sender.send(batchOf("b"), open)).toEqual({ kind: "spooled" });
    await pass(0);
    expect(inner.sends.map(({ messageIds }) => messageIds.join(""))).toEqual(["a", "a", "b"]);
    expect(sent.map(({ batch, outcome }) => [batch[0]?.messageId, outcome.kind])).toEqual([
      ["old1", "abandoned"],
      ["old2", "abandoned"],
      ["old3", "abandoned"],
      ["a", "delivered"],
      ["b", "delivered"],
    ]);
    expect(spool.messages).toBe(0);
  });

  it("does not keep a batch that was discarded while its last answer was on its way", async () => {
    const { sender, spool } = spooling([
      () => {
        discarded.abort(new DeadlineReached("discarded"));
        return EXHAUSTED;
      },
    ]);
    const discarded = new AbortController();
    expect(await sender.send(batchOf("a"), discarded.signal)).toEqual({
      kind: "abandoned",
      deadline: "discarded",
    });
    expect(spool.messages).toBe(0);
  });

  it("discards at once what is being sent from the spool when its last answer is on its way", async () => {
    const { sender, sent, spool, clock, pass } = spooling(
      [
        () => {
          sender.discard();
          return EXHAUSTED;
        },
      ],
      memorySpool([batchOf("a")]),
    );
    sender.start();
    await pass(0);
    expect(sent.map(({ outcome }) => outcome)).toEqual([{ kind: "abandoned", deadline: "discarded" }]);
    expect([spool.messages, clock.pending]).toEqual([0, 0]);
  });

  it.each(["start", "discard"] as const)("a second %s() begins no second loop", async (call) => {
    const { sender, inner, sent, pass } = spooling([DELIVERED], memorySpool([batchOf("a"), batchOf("b")]));
    sender[call]();
    sender[call]();
    await pass(0);
    expect(idsIn(sent.map(({ batch }) => batch))).toEqual(["a", "b"]);
    expect(inner.sends).toHaveLength(call === "start" ? 2 : 0);
  });

  it("reports why a batch could not be kept", async () => {
    const spool = memorySpool();
    spool.fill();
    const { sender } = spooling([EXHAUSTED], spool);
    expect(await sender.send(batchOf("a"), open)).toEqual({ kind: "spool_failed", reason: "full" });
  });

  /** A sender whose spool holds `a`, and whose sends last until their signal aborts. */
  function hanging() {
    const signals: AbortSignal[] = [];
    const inner = {
      send: (_batch: unknown, signal: AbortSignal) =>
        new Promise<FinalOutcome>((resolve) => {
          signals.push(signal);
          signal.addEventListener("abort", () => resolve(abandonedBy(signal)));
        }),
    };
    const clock = manualClock({ startMs: 0 });
    const spool = memorySpool([batchOf("a")]);
    const sent: SendReport[] = [];
    const sender = new SpoolingSender(inner, {
      ...{ spool, clock },
      onSent: (report) => sent.push(report),
      onDamaged: () => {},
    });
    const turns = async (): Promise<void> => {
      for (let turn = 0; turn < 20; turn++) await clock.advance(0);
    };
    return { sender, spool, clock, sent, signals, turns };
  }

  it.each(["passes", "has passed"])("finish() ends what is being sent when its deadline %s", async (when) => {
    const { sender, spool, clock, sent, signals, turns } = hanging();
    sender.start();
    await turns();
    const deadline = new AbortController();
    if (when === "has passed") deadline.abort(new DeadlineReached("close_deadline"));
    const finished = sender.finish(deadline.signal);
    await turns();
    deadline.abort(new DeadlineReached("close_deadline"));
    await finished;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect([spool.messages, sent.length, clock.pending]).toEqual([1, 0, 0]);
  });

  it.each<[name: string, call: (sender: SpoolingSender) => void]>([
    ["start()", (sender) => sender.start()],
    ["discard()", (sender) => sender.discard()],
  ])("%s after finish() leaves the spool to other processes", async (_name, call) => {
    const { sender, inner, spool, sent, pass } = spooling([EXHAUSTED], memorySpool([batchOf("a")]));
    sender.start();
    await sender.finish(open);
    const sends = inner.sends.length;
    call(sender);
    await pass(3_600_000);
    expect([inner.sends.length - sends, spool.messages, sent.length]).toEqual([0, 1, 0]);
    expect(await sender.send(batchOf("b"), open)).toEqual({ kind: "spooled" });
    expect(inner.sends).toHaveLength(sends);
  });

  it("start() while it waits does not shorten the wait", async () => {
    const { sender, inner, pass } = spooling([EXHAUSTED], memorySpool([batchOf("a")]));
    sender.start();
    await pass(0);
    sender.start();
    await pass(899);
    expect(inner.sends).toHaveLength(1);
    await sender.finish(AbortSignal.abort());
  });

  it.each<[name: string, steps: readonly ("start" | "pass")[], sends: number]>([
    ["that was not started", [], 0],
    ["that waits", ["start", "pass"], 1],
    ["that looks for the oldest batch", ["start"], 0],
  ])("finish() after its deadline sends nothing more of a spool %s", async (_name, steps, sends) => {
    const { sender, inner, spool, clock, pass } = spooling([EXHAUSTED], memorySpool([batchOf("a")]));
    for (const step of steps) {
      if (step === "start") sender.start();
      else await pass(0);
    }
    await sender.finish(AbortSignal.abort(new DeadlineReached("close_deadline")));
    await pass(3_600_000);
    expect([inner.sends.length, spool.messages, clock.pending]).toEqual([sends, 1, 0]);
  });

  it("finish() of a spool that was not started sends nothing, and forgets its deadline", async () => {
    const { sender, inner, spool } = spooling([DELIVERED], memorySpool([batchOf("a")]));
    const { signal } = new AbortController();
    await sender.finish(signal);
    expect([inner.sends.length, spool.messages, getEventListeners(signal, "abort").length]).toEqual([
      0, 1, 0,
    ]);
  });

  it("sends what is kept while it finds that nothing is", async () => {
    const { sender, inner, spool, clock, pass } = spooling([EXHAUSTED, DELIVERED]);
    const sent = sender.send(batchOf("a"), open);
    sender.start();
    await pass(0);
    expect(await sent).toEqual({ kind: "spooled" });
    expect([inner.sends.length, spool.messages, clock.pending]).toEqual([2, 0, 0]);
  });

  it("a batch that comes during finish() is sent before it ends, and one that comes later is kept", async () => {
    const { sender, spool, inner, pass } = spooling([DELIVERED], memorySpool([batchOf("a"), batchOf("b")]));
    sender.start();
    const finished = sender.finish(open);
    const kept = sender.send(batchOf("c"), open);
    await finished;
    expect(await kept).toEqual({ kind: "spooled" });
    await pass(3_600_000);
    expect(inner.sends.map(({ messageIds }) => messageIds.join(""))).toEqual(["a", "b", "c"]);
    expect(spool.messages).toBe(0);
  });

  it("a batch whose spool refuses it is not counted as kept after a discard", async () => {
    const spool = memorySpool([batchOf("a")]);
    const { sender, sent, pass } = spooling([EXHAUSTED], spool);
    await pass(0);
    spool.fill();
    sender.discard();
    expect(await sender.send(batchOf("b"), open)).toEqual({ kind: "spool_failed", reason: "full" });
    await pass(0);
    expect(sent.map(({ outcome }) => outcome.kind)).toEqual(["abandoned"]);
  });

  it("a file without a readable message is removed and reported, and nothing is sent", async () => {
    const damaged: string[] = [];
    const memory = memorySpool([[]]);
    const inner = scriptedSender<FinalOutcome | Split>([DELIVERED]);
    const clock = manualClock({ startMs: 0 });
    const spool = {
      ...memory,
      messages: 0,
      oldest: async () => {
        const kept = await memory.oldest();
        return kept && { ...kept, damaged: [{ messageId: "lost", json: undefined }] };
      },
    };
    const sender = new SpoolingSender(inner, {
      ...{ spool, clock },
      onSent: () => damaged.push("sent"),
      onDamaged: ({ file }) => damaged.push(file),
    });
    sender.start();
    for (let turn = 0; turn < 20; turn++) await clock.advance(0);
    expect([damaged, inner.sends.length, memory.batches.length]).toEqual([["memory"], 0, 0]);
  });
});
