import { EventEmitter } from "node:events";
import type { Worker } from "node:worker_threads";
import { beforeEach, describe, expect, test } from "vitest";
import { EngineThread } from "../../src/engine/thread/engine-thread.js";

interface Posted {
  readonly id: number;
  readonly method: string;
}

/** A thread that answers, notifies and ends when the test says so. */
class FakeThread extends EventEmitter {
  readonly posted: Posted[] = [];

  postMessage(message: Posted): void {
    this.posted.push(message);
  }

  get methods(): string[] {
    return this.posted.map(({ method }) => method);
  }

  /** Answers a call by its place. */
  answer(place = 0): void {
    const { id, method } = this.posted[place] ?? { id: -1, method: "none" };
    this.emit("message", { kind: "result", id, result: `${method} answered` });
  }

  saysItEnds(): void {
    this.emit("message", { kind: "notice", notice: { setAside: "profiles.db.damaged", isEnding: true } });
  }
}

let threads: FakeThread[];
let happened: string[];
let engine: EngineThread;

beforeEach(() => {
  threads = [];
  happened = [];
  engine = new EngineThread({
    start() {
      threads.push(new FakeThread());
      return threads.at(-1) as unknown as Worker;
    },
    onDamage: () => happened.push("damage"),
    onDeath: () => happened.push("death"),
  });
});

const thread = (number: number): FakeThread => threads[number - 1] ?? new FakeThread();
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** What became of a promise so far. */
function outcomeOf(promise: Promise<unknown>): { now: string } {
  const outcome = { now: "waits" };
  promise.then(
    (result) => {
      outcome.now = String(result);
    },
    (error: Error) => {
      outcome.now = error.message;
    },
  );
  return outcome;
}
const ENDED = expect.stringContaining("the audiences' thread ended");
const CLOSED = expect.stringContaining("audiences are closed");

/** A running thread that has one call under way. */
function running(): { now: string } {
  return outcomeOf(engine.call("compact", []));
}

describe("a thread that reported that it ends", () => {
  test("gets no further call: they wait for its exit, and the next thread answers them in their order", async () => {
    const first = running();
    thread(1).saysItEnds();
    const [second, third] = [
      outcomeOf(engine.call("stats", [1])),
      outcomeOf(engine.call("savePublished", [])),
    ];
    await turn();
    expect([thread(1).methods, threads.length]).toEqual([["compact"], 1]);
    thread(1).emit("exit");
    await turn();
    expect(thread(2).methods).toEqual(["stats", "savePublished"]);
    thread(2).answer(1);
    thread(2).answer(0);
    await turn();
    expect([first.now, second.now, third.now]).toEqual([ENDED, "stats answered", "savePublished answered"]);
    expect(happened).toEqual(["damage"]);
  });

  test("reports it twice: one next thread is started", async () => {
    running();
    thread(1).saysItEnds();
    thread(1).saysItEnds();
    const next = outcomeOf(engine.call("stats", [1]));
    thread(1).emit("exit");
    await turn();
    thread(2).answer();
    await turn();
    expect([next.now, threads.length, happened]).toEqual(["stats answered", 2, ["damage", "damage"]]);
  });

  test("answers what it had under way before it exits", async () => {
    const first = running();
    thread(1).saysItEnds();
    thread(1).answer();
    thread(1).emit("exit");
    await turn();
    expect([first.now, threads.length]).toEqual(["compact answered", 1]);
  });

  test.each([
    ["nothing waits", 0, ["closed", 1]],
    ["a call waits, which is answered first", 1, ["closed", 2]],
  ])("is closed when it has exited, if %s", async (_case, waiting, expected) => {
    running();
    thread(1).saysItEnds();
    const calls = Array.from({ length: waiting }, () => outcomeOf(engine.call("stats", [1])));
    const closed = outcomeOf(engine.close().then(() => "closed"));
    const late = outcomeOf(engine.call("savePublished", []));
    await turn();
    expect(closed.now).toBe("waits");
    thread(1).emit("exit");
    await turn();
    if (waiting > 0) {
      expect(thread(2).methods).toEqual(["stats", "close"]);
      thread(2).answer(0);
      thread(2).answer(1);
      await turn();
      expect(closed.now).toBe("waits");
      thread(2).emit("exit");
      await turn();
    }
    expect(calls.map(({ now }) => now)).toEqual(calls.map(() => "stats answered"));
    expect([closed.now, threads.length]).toEqual(expected);
    expect(late.now).toEqual(CLOSED);
  });
});

describe("a thread that died", () => {
  test("has its oldest call rejected; the others are repeated once, and rejected if the next one dies as well", async () => {
    const calls = [
      running(),
      outcomeOf(engine.call("stats", [1])),
      outcomeOf(engine.call("savePublished", [])),
    ];
    thread(1).emit("error", new Error("no memory"));
    thread(1).emit("exit");
    await turn();
    expect(thread(2).methods).toEqual(["stats", "savePublished"]);
    thread(2).emit("exit");
    await turn();
    expect(calls.map(({ now }) => now)).toEqual([expect.stringContaining("no memory"), ENDED, ENDED]);
    expect([threads.length, happened]).toEqual([2, ["death", "death"]]);
  });

  test("has calls with batches rejected, whose bytes are gone with it", async () => {
    running();
    const consumed = outcomeOf(engine.callWithBatches("consume", [[], 0], 0));
    thread(1).emit("exit");
    await turn();
    expect([consumed.now, threads.length]).toEqual([ENDED, 1]);
  });

  test("changes nothing by what still arrives of it", async () => {
    running();
    thread(1).emit("exit");
    const next = outcomeOf(engine.call("stats", [1]));
    thread(1).answer();
    thread(1).saysItEnds();
    const after = outcomeOf(engine.call("savePublished", []));
    await turn();
    expect(thread(2).methods).toEqual(["stats", "savePublished"]);
    thread(2).answer(0);
    thread(2).answer(1);
    await turn();
    expect([next.now, after.now]).toEqual(["stats answered", "savePublished answered"]);
  });
});

describe("a thread that is being closed", () => {
  test("may report damage or die: no other is started, and both closes end with its exit", async () => {
    running();
    const closes = [engine.close(), engine.close()].map((close) => outcomeOf(close.then(() => "closed")));
    thread(1).saysItEnds();
    const late = outcomeOf(engine.call("stats", [1]));
    await turn();
    expect([late.now, ...closes.map(({ now }) => now)]).toEqual([CLOSED, "waits", "waits"]);
    thread(1).emit("exit");
    await turn();
    expect([closes.map(({ now }) => now), threads.length]).toEqual([["closed", "closed"], 1]);
    expect(happened).toEqual(["damage"]);
  });

  test("was never started: it is closed at once", async () => {
    await engine.close();
    expect(outcomeOf(engine.call("stats", [1]))).toEqual({ now: "waits" });
    expect(threads).toEqual([]);
  });
});

test("a thread that cannot be started fails the call, and the next call tries again", async () => {
  let isPossible = false;
  engine = new EngineThread({
    start() {
      if (!isPossible) throw new Error("no more threads");
      threads.push(new FakeThread());
      return threads.at(-1) as unknown as Worker;
    },
    onDamage() {},
    onDeath() {},
  });
  await expect(engine.call("stats", [1])).rejects.toThrow("no more threads");
  isPossible = true;
  const next = outcomeOf(engine.call("stats", [1]));
  thread(1).answer();
  await turn();
  expect(next.now).toBe("stats answered");
});
