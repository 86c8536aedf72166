import type { Offset } from "@sluice/event-log";
import { describe, expect, it } from "vitest";
import { DELIVERY_DEFAULTS } from "../../src/delivery/delivery-stage.js";
import { InFlight } from "../../src/delivery/in-flight.js";
import { laneOf } from "../../src/delivery/ordering/lane-of.js";
import { cursorTracker } from "../../src/delivery/reading/cursor-tracker.js";
import { heldBytes } from "../../src/delivery/reading/work.js";
import { DestinationGate } from "../../src/delivery/sending/destination-gate.js";

const at = (offset: number): Offset => offset as Offset;

describe("the cursor", () => {
  it("stops before the first unfinished message, whatever the order in which messages finish", () => {
    const tracker = cursorTracker(at(-1));
    const places = [0, 1, 5, 6].map((offset) => tracker.add(at(offset)));
    const seen: number[] = [];
    for (const index of [2, 0, 3, 1]) {
      const place = places[index];
      if (place !== undefined) tracker.done(place);
      seen.push(tracker.cursor);
    }
    expect(seen).toEqual([-1, 0, 0, 6]);
  });

  it("skips unrelated messages only while nothing is in flight, and never goes back", () => {
    const tracker = cursorTracker(at(3));
    tracker.passed(at(10));
    const place = tracker.add(at(12));
    tracker.passed(at(20));
    expect(tracker.cursor).toBe(10);
    tracker.done(place);
    expect(tracker.cursor).toBe(12);
    tracker.passed(at(5));
    expect(tracker.cursor).toBe(12);
  });

  it("counts what is open, each message once", () => {
    const tracker = cursorTracker(at(-1));
    const places = [0, 1, 2].map((offset) => tracker.add(at(offset)));
    for (const index of [1, 1, 2]) tracker.done(places[index] as (typeof places)[number]);
    expect([tracker.open, tracker.span, tracker.cursor]).toEqual([1, 3, -1]);
  });

  it("keeps its position over many thousands of messages", () => {
    const tracker = cursorTracker(at(-1));
    const open = [];
    for (let offset = 0; offset < 20_000; offset++) {
      open.push(tracker.add(at(offset)));
      const oldest = open.length > 50 ? open.shift() : undefined;
      if (oldest !== undefined) tracker.done(oldest);
    }
    expect(tracker.cursor).toBe(20_000 - 51);
    expect(tracker.span).toBe(50);
    for (const place of open.reverse()) tracker.done(place);
    expect([tracker.cursor, tracker.span]).toEqual([19_999, 0]);
  });
});

describe("rounds in flight", () => {
  const MIB = 1_024 * 1_024;

  it.each<[name: string, bytes: readonly number[], hasRoom: boolean]>([
    ["no round", [], true],
    ["one below the concurrency", [1], true],
    ["as many as the concurrency", [1, 1], false],
    ["one message just below 3 MiB", [3 * MIB - 1], true],
    ["one message of 3 MiB", [3 * MIB], false],
  ])("%s", (_name, bytes, hasRoom) => {
    const inFlight = new InFlight();
    for (const one of bytes) inFlight.enter(one);
    expect(inFlight.hasRoom(2)).toBe(hasRoom);
    for (const one of bytes) inFlight.leave(one);
    expect([inFlight.hasRoom(1), inFlight.rounds]).toEqual([true, 0]);
  });

  it("are idle when the last has ended, or at once if there is none", async () => {
    const inFlight = new InFlight();
    await inFlight.idle();
    inFlight.enter(1);
    inFlight.enter(1);
    let isIdle = false;
    const idle = inFlight.idle().then(() => {
      isIdle = true;
    });
    inFlight.leave(1);
    await Promise.resolve();
    expect(isIdle).toBe(false);
    inFlight.leave(1);
    await idle;
  });
});

describe("a rate limit", () => {
  const limited = (perSecond: number, nowMs: number): DestinationGate => {
    const gate = new DestinationGate(DELIVERY_DEFAULTS.breaker);
    gate.reset(perSecond, nowMs);
    return gate;
  };
  /** Starts as many rounds as the gate allows. */
  const takeAll = (
    gate: DestinationGate,
    nowMs: number,
  ): { taken: number; retryAtMs: number | undefined } => {
    for (let taken = 0; ; taken++) {
      const answer = gate.ask(nowMs);
      if (answer.kind !== "open") return { taken, retryAtMs: answer.untilMs };
      gate.enter(nowMs);
    }
  };

  it("allows a burst of one second, then one round per interval, and saves up at most one second", () => {
    const gate = limited(10, 0);
    expect(takeAll(gate, 0)).toEqual({ taken: 10, retryAtMs: 100 });
    expect(takeAll(gate, 99).taken).toBe(0);
    expect(takeAll(gate, 100).taken).toBe(1);
    expect(takeAll(gate, 60_000).taken).toBe(10);
  });

  it("waits for a whole round if the limit is below one per second", () => {
    const gate = limited(0.5, 0);
    expect(takeAll(gate, 0)).toEqual({ taken: 1, retryAtMs: 2_000 });
    expect(takeAll(gate, 2_000).taken).toBe(1);
  });

  it("allows nothing when the clock goes backwards", () => {
    const gate = limited(10, 1_000);
    takeAll(gate, 1_000);
    expect(takeAll(gate, 0).taken).toBe(0);
  });

  it("returns the permit of a round that found nothing to start", () => {
    const gate = limited(1, 0);
    gate.enter(0);
    gate.takeBack();
    expect(takeAll(gate, 0).taken).toBe(1);
  });
});

describe("the lane of a user", () => {
  it.each([
    [{ userId: "ann", anonymousId: "x" }, 5_009_271_815_946_492],
    [{ anonymousId: "ann" }, 5_009_271_815_946_492],
    [{ userId: "", anonymousId: "ann" }, 5_009_271_815_946_492],
    [{ userId: "anne" }, 8_956_636_357_875_075],
    [{}, 3_338_908_027_751_811],
  ])("of %j never changes, because it is stored", (message, lane) => {
    expect(laneOf({ type: "track", ...message })).toBe(lane);
  });

  it("is another one for each of 200,000 users", () => {
    const lanes = new Set<number>();
    for (let user = 0; user < 200_000; user++) lanes.add(laneOf({ type: "track", userId: `user-${user}` }));
    expect(lanes.size).toBe(200_000);
    expect([...lanes].every((lane) => Number.isSafeInteger(lane) && lane >= 0)).toBe(true);
  });
});

it.each<[value: unknown, bytes: number]>([
  ["text", 20],
  [1.5, 16],
  [null, 16],
  [true, 16],
  [[], 80],
  [["ab", 1], 80 + 18 + 16],
  [{ a: "b", list: [{}] }, 80 + 1 + 17 + 4 + 80 + 80],
])("estimates what %j takes in memory: %d bytes", (value, bytes) => {
  expect(heldBytes(value)).toBe(bytes);
});
