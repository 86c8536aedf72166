import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { deadlineQueue } from "../../src/sender/deadline-queue.js";

const open = () => {
  const clock = manualClock();
  const startMs = clock.monotonic();
  const missed: string[] = [];
  const queue = deadlineQueue(clock, 5_000);
  const add = (name: string, startedMs = clock.monotonic()) =>
    queue.add(startedMs, () => missed.push(`${name} ${clock.monotonic() - startMs}`));
  return { clock, queue, missed, add };
};

it("calls each missed deadline at its time, with one timer for all", async () => {
  const { clock, missed, add } = open();
  add("a");
  await clock.advance(1_000);
  const b = add("b");
  add("c");
  await clock.advance(1_000);
  add("d");
  expect(clock.pending).toBe(1);
  b.done();
  await clock.advance(10_000);
  expect(missed).toEqual(["a 5000", "c 6000", "d 7000"]);
  expect(clock.pending).toBe(0);
});

it("drops deadlines that are done, however many, and keeps the others", async () => {
  const { clock, missed, add } = open();
  add("hangs");
  for (let index = 0; index < 10_000; index++) {
    add(`m${index}`).done();
    if (index % 1_000 === 0) await clock.advance(10);
  }
  add("late");
  await clock.advance(10_000);
  expect(missed).toEqual(["hangs 5000", "late 5100"]);
});

it("counts from the start of the request, also if it started before others in the queue", async () => {
  const { clock, missed, add } = open();
  const startedMs = clock.now();
  await clock.advance(3_000);
  add("fresh");
  const stale = add("stale", startedMs);
  add("stale too", startedMs);
  await clock.advance(1_000);
  stale.done();
  await clock.advance(10_000);
  expect(missed).toEqual(["stale too 5000", "fresh 8000"]);
});

it.each([
  ["back", -3_600_000],
  ["forward", 3_600_000],
])("measures time, not the clock: one that is set %s changes nothing", async (_name, byMs) => {
  const { clock, missed, add } = open();
  add("a");
  await clock.advance(1_000);
  add("b");
  await clock.advance(1_000);
  clock.jump(byMs);
  await clock.advance(2_999);
  expect(missed).toEqual([]);
  await clock.advance(1);
  expect(missed).toHaveLength(1);
  await clock.advance(999);
  expect(missed).toHaveLength(1);
  await clock.advance(1);
  expect(missed).toHaveLength(2);
});

it.each([
  ["back", -3_600_000],
  ["forward", 3_600_000],
])("keeps the deadline of what began after the clock was set %s", async (_name, byMs) => {
  const { clock, missed, add } = open();
  const before = add("before");
  await clock.advance(1_000);
  clock.jump(byMs);
  add("after");
  before.done();
  await clock.advance(1_000);
  add("later");
  await clock.advance(3_999);
  expect(missed).toHaveLength(0);
  await clock.advance(1);
  expect(missed).toHaveLength(1);
  await clock.advance(1_000);
  expect(missed).toHaveLength(2);
});

it("lets answers be read that arrived while the thread stood still after it had read", async () => {
  const clock = manualClock();
  let stoodStillMs = 0;
  const missed: string[] = [];
  // When a timer fires, the event loop reads the sockets, and then runs the callback.
  const after = (ms: number, callback: () => void) =>
    clock.after(ms, () => {
      if (stoodStillMs > 0) b.done();
      stoodStillMs = 1_000;
      callback();
    });
  const queue = deadlineQueue({ ...clock, after, monotonic: () => clock.monotonic() + stoodStillMs }, 5_000);
  const add = (name: string) => queue.add(clock.monotonic(), () => missed.push(name));
  add("a");
  await clock.advance(500);
  const b = add("b");
  add("c");
  await clock.advance(4_500);
  expect(missed).toEqual(["a", "c"]);
  expect(clock.pending).toBe(0);
});

it("leaves no timer when it is stopped", async () => {
  const { clock, queue, missed, add } = open();
  add("a");
  queue.stop();
  expect(clock.pending).toBe(0);
  await clock.advance(10_000);
  expect(missed).toEqual([]);
});
