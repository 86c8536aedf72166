import type { Sandboxes } from "@sluice/transformations";
import { describe, expect, it } from "vitest";
import { dryRun } from "../../src/admin/transformations/dry-run.js";
import type { OutgoingMessage } from "../../src/destinations/destination.js";
import { Trials } from "../../src/transformations/trials.js";

const SANDBOXES: Sandboxes = {
  run: async () => [],
  check: async () => ({ ok: true }),
  stats: () => ({ threads: 0, sandboxes: 0, memoryBytes: 0 }),
  close: async () => {},
};
const waiting = new AbortController().signal;

/** Trials, and one of them that runs until it is ended. */
async function withRunning() {
  const trials = new Trials(async () => SANDBOXES);
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const first = trials.run(waiting, () => {
    begin();
    return ended;
  });
  await begun;
  return { trials, first, end };
}

it("run one after the other, and are refused when eight wait", async () => {
  const { trials, first, end } = await withRunning();
  const order: number[] = [];
  const others = Array.from({ length: 8 }, (_, index) => trials.run(waiting, async () => order.push(index)));
  await expect(trials.run(waiting, async () => {})).rejects.toMatchObject({
    code: "rate_limited",
    details: { retryAfterSeconds: 1 },
  });
  expect(order).toEqual([]);
  end();
  await Promise.all([first, ...others]);
  expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

it("leave the queue when their client goes, and one that fails does not hold up the next", async () => {
  const { trials, first, end } = await withRunning();
  const gone = new AbortController();
  const left = trials.run(gone.signal, async () => "run");
  const failing = trials.run(waiting, () => Promise.reject(new Error("broken")));
  gone.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  end();
  await first;
  await expect(failing).rejects.toThrow("broken");
  expect(await trials.run(waiting, async () => "run")).toBe("run");
});

it("open the sandboxes once, and again if that failed", async () => {
  let opened = 0;
  const trials = new Trials(async () => {
    opened += 1;
    if (opened === 1) throw new Error("no thread");
    return SANDBOXES;
  });
  await expect(trials.check("", "javascript")).rejects.toThrow("no thread");
  expect(await trials.check("", "javascript")).toEqual({ ok: true });
  await trials.run(waiting, async () => {});
  expect(opened).toBe(2);
});

describe("a dry run of code that takes 9 s for 25 messages", () => {
  const messages = Array.from({ length: 100 }, (_, offset): OutgoingMessage => {
    const message = { type: "track", event: "E" } as unknown as OutgoingMessage["message"];
    return { messageId: `m${offset}`, sourceId: "s", message, timestamp: "", offset, receivedAtMs: 0 };
  });
  const run = (pages: AsyncIterable<readonly OutgoingMessage[]>) => {
    let nowMs = 0;
    const sandboxes: Pick<Sandboxes, "run"> = {
      async run(_code, inputs) {
        nowMs += 9_000;
        return inputs.map(() => ({ kind: "failed", code: "timeout", message: "endless", logs: [] }));
      },
    };
    const code = { key: "k", code: "", language: "javascript", secrets: {} } as const;
    return dryRun(sandboxes, code, pages, { signal: waiting, clock: { monotonic: () => nowMs } });
  };

  it("ends after 30 s, counts what has a result, and reads no more", async () => {
    let asked = 0;
    async function* pages() {
      for (;;) {
        asked += 1;
        yield messages.slice(0, 40);
      }
    }
    expect(await run(pages())).toMatchObject({ messages: 80, failed: 80, endedEarly: true, tookMs: 36_000 });
    expect(asked).toBe(3);
  });

  it("did not end early if the last message came late", async () => {
    async function* pages() {
      yield messages;
      yield [];
    }
    expect(await run(pages())).toMatchObject({ messages: 100, endedEarly: false, tookMs: 36_000 });
  });
});
