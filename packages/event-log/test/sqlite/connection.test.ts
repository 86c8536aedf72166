import { EventEmitter } from "node:events";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { beforeEach, describe, expect, it } from "vitest";
import type { FromWorker, ToWorker } from "../../src/sqlite/calls/operations.js";
import type { WorkerOptions } from "../../src/sqlite/calls/tuning.js";
import { Connection } from "../../src/sqlite/client/connection.js";
import type { StoreThread } from "../../src/sqlite/client/start-worker.js";

/** A thread that says what the test says. */
class FakeThread extends EventEmitter implements StoreThread {
  readonly posted: ToWorker[] = [];
  isTerminated = false;

  readonly moved: ArrayBuffer[] = [];

  postMessage(message: ToWorker, transfer: ArrayBuffer[] = []): void {
    this.posted.push(message);
    this.moved.push(...transfer);
  }

  async terminate(): Promise<void> {
    this.isTerminated = true;
    await turn();
    this.exit();
  }

  say(message: Partial<FromWorker>): void {
    this.emit("message", message);
  }

  opened(): void {
    this.say({ kind: "opened", snapshot: {} as never });
  }

  exit(): void {
    this.emit("exit");
  }

  /** Ids of all calls that it was given. */
  get calls(): number[] {
    return this.posted.flatMap((one) => (one.kind === "calls" ? one.calls.map(({ id }) => id) : []));
  }

  answer(): void {
    const answers = this.calls.map((id) => ({ kind: "done", id, answer: `answer ${id}` }) as const);
    this.say({ kind: "answers", answers, stats: {} as never } as FromWorker);
  }

  get kinds(): string[] {
    return this.posted.map(({ kind }) => kind);
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

let clock: ManualClock;
let threads: FakeThread[];
let timesOpened: number;

const thread = (): FakeThread => {
  const last = threads.at(-1);
  if (last === undefined) throw new Error("no thread was started");
  return last;
};

function opening(): Promise<Connection> {
  const start = (): FakeThread => {
    const started = new FakeThread();
    threads.push(started);
    return started;
  };
  return Connection.open({} as WorkerOptions, start, clock, {
    opened() {
      timesOpened += 1;
    },
    stats: () => {},
    damaged: () => {},
  });
}

const STATES = ["ready", "unavailable", "without a thread", "reopening", "closing", "closed"] as const;
type StateName = (typeof STATES)[number];

/** Brings a connection into a state. */
async function connectionIn(state: StateName): Promise<Connection> {
  const open = opening();
  thread().opened();
  const connection = await open;
  switch (state) {
    case "ready":
      break;
    case "unavailable":
      thread().say({ kind: "failed", reason: "the disk is full", ids: [] });
      break;
    case "without a thread":
      thread().exit();
      break;
    case "reopening":
      thread().say({ kind: "failed", reason: "the disk is full", ids: [] });
      await clock.advance(100);
      break;
    case "closing":
      void connection.close();
      break;
    case "closed": {
      const closed = connection.close();
      thread().exit();
      await closed;
      break;
    }
    default:
      state satisfies never;
  }
  return connection;
}

beforeEach(() => {
  clock = manualClock();
  threads = [];
  timesOpened = 0;
});

describe("while it opens for the first time", () => {
  it.each<[event: string, happen: () => void, reason: string]>([
    [
      "the folder cannot be opened",
      () => thread().say({ kind: "not-opened", reason: "no such disk", isInUse: false }),
      "no such disk",
    ],
    [
      "the folder is in use",
      () => thread().say({ kind: "not-opened", reason: "another process", isInUse: true }),
      "another process",
    ],
    ["the thread ends", () => thread().exit(), "the store's thread has ended"],
  ])("if %s, open() rejects once the thread has ended", async (_event, happen, reason) => {
    const open = opening();
    happen();
    await expect(open).rejects.toThrow(reason);
    expect(thread().isTerminated).toBe(true);
    expect(timesOpened).toBe(0);
  });

  it("a second answer changes nothing", async () => {
    const open = opening();
    thread().say({ kind: "not-opened", reason: "no such disk", isInUse: false });
    thread().opened();
    await expect(open).rejects.toThrow("no such disk");
    expect(timesOpened).toBe(0);
  });
});

/** What is asked for in each state. */
it.each<[state: StateName, isAnswered: boolean, reason?: string]>([
  ["ready", true],
  ["unavailable", false, "the disk is full"],
  ["without a thread", false, "the store's thread has ended"],
  ["reopening", false, "the disk is full"],
  ["closing", false, "the store is closed"],
  ["closed", false, "the store is closed"],
])("%s: a call is answered: %s", async (state, isAnswered, reason) => {
  const connection = await connectionIn(state);
  const call = connection.ask("compact", undefined as never);
  if (reason !== undefined) await expect(call).rejects.toThrow(reason);
  else {
    await turn();
    thread().answer();
    await expect(call).resolves.toBeDefined();
  }
  expect(connection.health().kind).toBe(isAnswered ? "ready" : "unavailable");
});

/** Every event in every state: the state afterwards, as its health says, and how often the folder was opened. */
const EVENTS = {
  "opened again": () => thread().opened(),
  "not opened": () => thread().say({ kind: "not-opened", reason: "no such disk", isInUse: false }),
  "a failed write": () => thread().say({ kind: "failed", reason: "a late failure", ids: [] }),
  "the thread's end": () => thread().exit(),
  "the thread's end, twice": () => {
    thread().exit();
    thread().exit();
  },
};
type EventName = keyof typeof EVENTS;
it.each<[state: StateName, event: EventName, health: string, reason?: string]>([
  ["ready", "opened again", "ready"],
  ["ready", "not opened", "ready"],
  ["ready", "a failed write", "unavailable", "a late failure"],
  ["ready", "the thread's end", "unavailable", "the store's thread has ended"],
  ["ready", "the thread's end, twice", "unavailable", "the store's thread has ended"],
  ["unavailable", "opened again", "unavailable", "the disk is full"],
  ["unavailable", "not opened", "unavailable", "the disk is full"],
  ["unavailable", "a failed write", "unavailable", "the disk is full"],
  ["unavailable", "the thread's end", "unavailable", "the store's thread has ended"],
  ["without a thread", "the thread's end", "unavailable", "the store's thread has ended"],
  ["reopening", "opened again", "ready"],
  ["reopening", "not opened", "unavailable", "no such disk"],
  ["reopening", "a failed write", "unavailable", "the disk is full"],
  ["reopening", "the thread's end", "unavailable", "the store's thread has ended"],
  ["closing", "opened again", "unavailable", "the store is closed"],
  ["closing", "not opened", "unavailable", "the store is closed"],
  ["closing", "a failed write", "unavailable", "the store is closed"],
  ["closing", "the thread's end, twice", "unavailable", "the store is closed"],
  ["closed", "opened again", "unavailable", "the store is closed"],
  ["closed", "a failed write", "unavailable", "the store is closed"],
  ["closed", "the thread's end", "unavailable", "the store is closed"],
])("%s, then %s: %s %s", async (state, event, health, reason) => {
  const connection = await connectionIn(state);
  EVENTS[event]();
  expect(connection.health()).toMatchObject(
    reason === undefined ? { kind: health } : { kind: health, reason },
  );
});

/** `close()` in each state, and again while it closes. */
it.each(STATES)("%s: close() resolves when the thread has ended, and so does a second one", async (state) => {
  const connection = await connectionIn(state);
  const closed: number[] = [];
  const closings = [1, 2].map((time) => connection.close().then(() => closed.push(time)));
  await turn();
  const hasThread = state !== "without a thread" && state !== "closed";
  expect(closed).toEqual(hasThread ? [] : [1, 2]);
  expect(thread().kinds.filter((kind) => kind === "close")).toHaveLength(
    state === "without a thread" ? 0 : 1,
  );
  thread().exit();
  await Promise.all(closings);
  expect(connection.health()).toMatchObject({ reason: "the store is closed" });
  // No timer starts another one.
  await clock.advance(60_000);
  expect(threads).toHaveLength(1);
});

describe("a call that is under way", () => {
  it("is refused when the thread ends, and its late answer changes nothing", async () => {
    const connection = await connectionIn("ready");
    const call = connection.ask("compact", undefined as never);
    await turn();
    thread().exit();
    thread().answer();
    await expect(call).rejects.toMatchObject({ code: "storage_unavailable" });
  });

  it("is refused for the reason that the thread gives", async () => {
    const connection = await connectionIn("ready");
    const call = connection.ask("compact", undefined as never);
    await turn();
    const [id = 0] = thread().calls;
    const refused = {
      kind: "refused",
      id,
      code: "conflict",
      detail: "a backup is running",
      current: undefined,
    } as const;
    thread().say({ kind: "answers", answers: [refused], stats: {} as never } as FromWorker);
    await expect(call).rejects.toMatchObject({ code: "conflict", detail: "a backup is running" });
  });

  it("goes with the others of its turn, and with its buffers", async () => {
    const connection = await connectionIn("ready");
    const buffer = new ArrayBuffer(1);
    const ask = (transfer: ArrayBuffer[]) => connection.ask("compact", undefined as never, transfer);
    const calls = [ask([buffer]), ask([])];
    await turn();
    expect([thread().kinds, thread().calls.length, thread().moved]).toEqual([["calls"], 2, [buffer]]);
    thread().answer();
    await Promise.all(calls);
  });

  it("is answered while it closes", async () => {
    const connection = await connectionIn("ready");
    const call = connection.ask("compact", undefined as never);
    const closed = connection.close();
    expect(thread().kinds).toEqual(["calls", "close"]);
    thread().answer();
    await expect(call).resolves.toBeDefined();
    thread().exit();
    await closed;
  });

  it("and is not sent yet when a write fails is refused by the thread that fails", async () => {
    const connection = await connectionIn("ready");
    const call = connection.ask("compact", undefined as never);
    thread().say({ kind: "failed", reason: "the disk is full", ids: [] });
    await turn();
    thread().say({ kind: "failed", reason: "the disk is full", ids: thread().calls });
    await expect(call).rejects.toThrow("the disk is full");
  });

  it("and is not sent yet when the thread ends is not sent to the next one", async () => {
    const connection = await connectionIn("ready");
    const call = connection.ask("compact", undefined as never);
    thread().exit();
    await expect(call).rejects.toMatchObject({ code: "storage_unavailable" });
    await clock.advance(100);
    expect(threads).toHaveLength(2);
    await turn();
    expect(thread().calls).toEqual([]);
  });
});

describe("opening again", () => {
  it("waits longer after each failure in a row, two seconds at most, and from the first delay after a success", async () => {
    const connection = await connectionIn("unavailable");
    const first = thread();
    for (const delayMs of [100, 200, 400, 800, 1_600, 2_000, 2_000]) {
      const asked = first.kinds.filter((kind) => kind === "reopen").length;
      await clock.advance(delayMs - 1);
      expect(first.kinds.filter((kind) => kind === "reopen")).toHaveLength(asked);
      await clock.advance(1);
      expect(first.kinds.filter((kind) => kind === "reopen")).toHaveLength(asked + 1);
      first.say({ kind: "not-opened", reason: "still full", isInUse: false });
    }
    await clock.advance(2_000);
    first.opened();
    expect(connection.health().kind).toBe("ready");
    expect(timesOpened).toBe(2);
    first.say({ kind: "failed", reason: "full again", ids: [] });
    await clock.advance(100);
    expect(first.kinds.filter((kind) => kind === "reopen")).toHaveLength(9);
  });

  it("starts a thread where there is none, which opens the folder by itself", async () => {
    const connection = await connectionIn("without a thread");
    await clock.advance(100);
    expect(threads).toHaveLength(2);
    expect(thread().posted).toEqual([]);
    thread().opened();
    expect(connection.health().kind).toBe("ready");
  });

  it("counts a thread that dies while it waits as the same failure", async () => {
    const connection = await connectionIn("unavailable");
    const { sinceMs } = connection.health() as { sinceMs: number };
    await clock.advance(50);
    thread().exit();
    await clock.advance(50);
    expect(threads).toHaveLength(2);
    expect(connection.health()).toMatchObject({ kind: "unavailable", sinceMs });
  });
});
