import type { JsMsg } from "@nats-io/jetstream";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  CheckFailed,
  type FollowOptions,
  followStream,
  type StreamAccess,
} from "../../src/jetstream/follow-stream.js";

/** One consumer of the server, as the test plays it. */
class FakeReading {
  readonly #messages: JsMsg[] = [];
  readonly #notices: { type: string }[] = [];
  #wake = (): void => {};
  #wakeNotices = (): void => {};
  isStopped = false;
  /** How many messages the server has sent. */
  sent = 0;

  send(seq: number, deliverySequence = this.sent + 1): void {
    this.sent = deliverySequence;
    this.#messages.push({ seq, subject: "s", info: { deliverySequence } } as JsMsg);
    this.#wake();
  }

  notice(type: string): void {
    this.#notices.push({ type });
    this.#wakeNotices();
  }

  stop(): void {
    this.isStopped = true;
    this.#wake();
    this.#wakeNotices();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JsMsg> {
    for (;;) {
      const next = this.#messages.shift();
      if (next !== undefined) yield next;
      else if (this.isStopped) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async *status(): AsyncGenerator<{ type: string }> {
    while (!this.isStopped) {
      const next = this.#notices.shift();
      if (next !== undefined) yield next;
      else await new Promise<void>((resolve) => (this.#wakeNotices = resolve));
    }
  }
}

interface Asked {
  readonly name: string;
  readonly deliver_policy: string;
  readonly opt_start_seq?: number;
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

let clock: ManualClock;
let ending: AbortController;
let readings: FakeReading[];
let asked: Asked[];
let removed: string[];
let seen: number[];
let result: Promise<string>;
let healthListeners: Set<() => void>;
/** What the server answers about a consumer; by default how much it has sent. */
let info: () => Promise<number>;
/** A reading is being started for as long as this is not resolved. */
let starting: Promise<void> | undefined;
/** The caller keeps a message for as long as this is not resolved. */
let held: Promise<void> | undefined;

const last = (): FakeReading => {
  const reading = readings.at(-1);
  if (reading === undefined) throw new Error("nothing is read");
  return reading;
};

function access(): StreamAccess {
  return {
    clock,
    maxPayloadBytes: () => 1e6,
    link: {
      connected: async () => true,
      onHealth(listener: () => void) {
        healthListeners.add(listener);
        return () => healthListeners.delete(listener);
      },
    },
    manager: {
      consumers: {
        add: async (_stream: string, config: Asked) => {
          asked.push(config);
          return { num_pending: 0 };
        },
        info: async () => ({ delivered: { consumer_seq: await info() } }),
        delete: async (_stream: string, name: string) => void removed.push(name),
      },
    },
    client: {
      consumers: {
        get: async () => ({
          async consume() {
            await starting;
            const reading = new FakeReading();
            readings.push(reading);
            return reading;
          },
        }),
      },
    },
  } as unknown as StreamAccess;
}

async function follow(options: Partial<FollowOptions> = {}): Promise<void> {
  result = (async () => {
    try {
      const of = { stream: "log", from: 1, signal: ending.signal, ...options };
      for await (const message of followStream(access(), of)) {
        seen.push(message.seq);
        await held;
      }
      return "ended";
    } catch (error) {
      return String(error);
    }
  })();
  await settle();
}

beforeEach(() => {
  clock = manualClock();
  ending = new AbortController();
  [readings, asked, removed, seen, healthListeners] = [[], [], [], [], new Set()];
  info = async () => last().sent;
  [held, starting] = [undefined, undefined];
});
afterEach(async () => {
  ending.abort();
  await clock.advance(100);
  expect(await result).not.toBe("");
  // Nothing listens, and no consumer is left on the servers.
  await settle();
  expect(healthListeners.size).toBe(0);
  expect(removed).toEqual(asked.map(({ name }) => name));
});

/** What ends a reading: a new one goes on behind the last message. */
describe("after the second message", () => {
  it.each<[event: string, happen: () => Promise<void> | void]>([
    ["the connection changes", () => healthListeners.forEach((listener) => void listener())],
    ["heartbeats are missed", () => last().notice("heartbeats_missed")],
    ["there is no server for it", () => last().notice("no_responders")],
    ["the library ends it", () => last().stop()],
    ["a message is missing", () => last().send(4, 4)],
    ["an earlier message comes again", () => last().send(1)],
    [
      "the server has sent more than arrived, when asked after three seconds",
      async () => {
        info = async () => 3;
        await clock.advance(3_000);
      },
    ],
    [
      "the server does not know it, when asked after three seconds",
      async () => {
        info = async () => Promise.reject(new Error("consumer not found"));
        await clock.advance(3_000);
      },
    ],
  ])("%s: it is read on from the third, once", async (_event, happen) => {
    await follow();
    last().send(1);
    last().send(2);
    await settle();
    await happen();
    await settle();
    await clock.advance(100);
    await settle();
    expect(asked.map(({ opt_start_seq }) => opt_start_seq)).toEqual([1, 3]);
    last().send(3);
    last().send(4);
    await settle();
    expect(seen).toEqual([1, 2, 3, 4]);
  });

  it.each<[event: string, happen: () => Promise<void> | void]>([
    ["other notices come", () => last().notice("heartbeat")],
    ["nothing comes for three seconds", () => clock.advance(3_000)],
    ["nothing comes for half a minute", () => clock.advance(30_000)],
  ])("%s: the same reading goes on", async (_event, happen) => {
    await follow();
    last().send(1);
    last().send(2);
    await settle();
    await happen();
    await settle();
    last().send(3);
    await settle();
    expect(readings).toHaveLength(1);
    expect(seen).toEqual([1, 2, 3]);
  });
});

describe("while the server is asked whether there is more", () => {
  it("a message that comes is no reason to begin anew", async () => {
    await follow();
    const answer = Promise.withResolvers<number>();
    info = () => answer.promise;
    await clock.advance(3_000);
    last().send(1);
    await settle();
    answer.resolve(7);
    await settle();
    await clock.advance(100);
    expect(readings).toHaveLength(1);
    expect(seen).toEqual([1]);
  });

  it("a caller who works on a message for long is not taken for a loss", async () => {
    await follow();
    const [answer, work] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()];
    info = () => answer.promise;
    await clock.advance(3_000);
    held = work.promise;
    last().send(1);
    last().send(2);
    await settle();
    // Its answer comes while the caller works, and the second message is still on its way to the caller.
    answer.resolve(1);
    await settle();
    info = async () => 2;
    await clock.advance(60_000);
    await settle();
    held = undefined;
    work.resolve();
    await settle();
    await clock.advance(100);
    expect(readings).toHaveLength(1);
    expect(seen).toEqual([1, 2]);
  });

  it("an answer after the end changes nothing", async () => {
    await follow({ check: async (next) => (next === 2 ? Promise.reject(new Error("late")) : undefined) });
    last().send(1);
    await settle();
    const answer = Promise.withResolvers<number>();
    info = () => answer.promise;
    await clock.advance(3_000);
    ending.abort();
    await settle();
    answer.resolve(1);
    expect(await result).toBe("ended");
  });
});

describe("what the check says", () => {
  it("ends the reading with its error, before it begins", async () => {
    await follow({ check: () => Promise.reject(new Error("trimmed")) });
    expect(await result).toBe("Error: trimmed");
    expect(asked).toEqual([]);
  });

  it("ends the reading with its error, also while it waits", async () => {
    let isTrimmed = false;
    await follow({ check: async () => (isTrimmed ? Promise.reject(new Error("trimmed")) : undefined) });
    last().send(1);
    await settle();
    isTrimmed = true;
    await clock.advance(3_000);
    await settle();
    expect(await result).toBe("Error: trimmed");
  });

  it("is asked for again if it could not look, before it begins and while it waits", async () => {
    let failures = 2;
    await follow({
      check: async () => {
        failures -= 1;
        if (failures >= 0) throw new CheckFailed("no leader");
      },
    });
    expect(asked).toEqual([]);
    await clock.advance(100);
    await clock.advance(100);
    await settle();
    expect(asked).toHaveLength(1);
    failures = 1;
    await clock.advance(3_000);
    await settle();
    await clock.advance(100);
    await settle();
    expect(asked).toHaveLength(2);
    last().send(1);
    await settle();
    expect(seen).toEqual([1]);
  });
});

describe("when it ends", () => {
  it("while a message is with the caller, no further one is given", async () => {
    const work = Promise.withResolvers<void>();
    held = work.promise;
    await follow();
    last().send(1);
    last().send(2);
    await settle();
    ending.abort();
    work.resolve();
    expect(await result).toBe("ended");
    expect(seen).toEqual([1]);
  });

  it("while a reading is being started, that one ends as well", async () => {
    const started = Promise.withResolvers<void>();
    starting = started.promise;
    await follow();
    ending.abort();
    started.resolve();
    expect(await result).toBe("ended");
    expect([readings.length, last().isStopped]).toEqual([1, true]);
  });

  it("before it has begun, nothing is asked for", async () => {
    ending.abort();
    await follow();
    expect(await result).toBe("ended");
    expect(asked).toEqual([]);
  });
});

it("begins with the last message of each subject only until it has given one", async () => {
  await follow({ lastPerSubject: true, subject: "s" });
  last().stop();
  await settle();
  await clock.advance(100);
  await settle();
  last().send(7);
  await settle();
  last().stop();
  await settle();
  await clock.advance(100);
  await settle();
  expect(asked.map(({ deliver_policy, opt_start_seq }) => [deliver_policy, opt_start_seq])).toEqual([
    ["last_per_subject", undefined],
    ["last_per_subject", undefined],
    ["by_start_sequence", 8],
  ]);
});
