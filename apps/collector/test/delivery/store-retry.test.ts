import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { StoreRetry } from "../../src/delivery/retry-feed.js";

function storeRetry() {
  const clock = manualClock();
  const startMs = clock.monotonic();
  const happened: string[] = [];
  const note = (what: string): void => {
    happened.push(`${what} ${clock.monotonic() - startMs}`);
  };
  return { clock, happened, note, retry: new StoreRetry(clock, () => note("pump")) };
}

it("repeats all calls that failed at one time, once, and then goes on", async () => {
  const { clock, happened, note, retry } = storeRetry();
  retry.failed(() => note("first"));
  retry.failed();
  retry.failed(() => note("second"));
  expect(clock.pending).toBe(1);
  await clock.advance(60_000);
  expect(happened.map((line) => line.split(" ")[0])).toEqual(["first", "second", "pump"]);
  expect(new Set(happened.map((line) => line.split(" ")[1])).size).toBe(1);
});

it("pauses for longer after each try, until a call succeeds", async () => {
  const { clock, retry } = storeRetry();
  const pauseMs = async (): Promise<number> => {
    retry.failed();
    let waitedMs = 0;
    while (clock.pending > 0) {
      await clock.advance(10);
      waitedMs += 10;
    }
    return waitedMs;
  };
  const first = await pauseMs();
  expect(await pauseMs()).toBeGreaterThan(first);
  retry.succeeded();
  expect(await pauseMs()).toBe(first);
});

it("repeats nothing once it is closed, also what failed before if something fails later", async () => {
  const { clock, happened, note, retry } = storeRetry();
  retry.failed(() => note("before"));
  retry.close();
  expect(clock.pending).toBe(0);
  retry.failed();
  await clock.advance(60_000);
  expect(happened.map((line) => line.split(" ")[0])).toEqual(["pump"]);
});
