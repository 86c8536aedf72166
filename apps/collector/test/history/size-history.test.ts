import { AUDIENCE } from "@sluice/audiences";
import { audience } from "@sluice/audiences/testing";
import { openMemoryStore, StorageUnavailable } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, test } from "vitest";
import { countersEndpoint } from "../../src/admin/collector/counters-endpoint.js";
import { type KeptSizes, sizesWithin, startSizeHistory, withSize } from "../../src/history/size-history.js";
import { controlApi } from "../admin/control-api.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** 2026-01-01T00:00:00Z, the start of a day. */
const START = Date.UTC(2026, 0, 1);

describe("the points of one audience", () => {
  test.each<[string, readonly number[], readonly number[], readonly number[]]>([
    ["the first one", [90], [90], [90]],
    ["one an hour", [0, 10, 59, 60, 119], [0, 60], [0]],
    ["by the hour of the clock", [59, 60], [59, 60], [59]],
    ["one a day", [0, 1_439, 1_440], [0, 1_439, 1_440], [0, 1_440]],
    ["after a pause", [0, 600], [0, 600], [0]],
    ["a clock that is set back by an hour", [600, 540, 599, 660], [600, 660], [600]],
    ["a clock that is set back to the day before", [1_440, 1_380, 1_500], [1_440, 1_500], [1_440]],
    ["a clock that was years ahead", [0, 9_999_999, 60, 120], [0, 60, 120], [0]],
  ])("%s", (_what, minutes, week, year) => {
    const kept = minutes.reduce<KeptSizes | undefined>(
      (before, minute) => withSize(before, [START + minute * MINUTE, minute]),
      undefined,
    );
    expect(kept?.week.map(([, size]) => size)).toEqual(week);
    expect(kept?.year.map(([, size]) => size)).toEqual(year);
  });

  test("are bounded: the last 168 hours and 365 days", () => {
    let kept: KeptSizes | undefined;
    for (let hour = 0; hour < 400 * 24; hour++) kept = withSize(kept, [START + hour * HOUR, hour]);
    expect(kept?.week.map(([, size]) => size)).toEqual(Array.from({ length: 168 }, (_, at) => 9_432 + at));
    expect(kept?.year.map(([, size]) => size)).toEqual(
      Array.from({ length: 365 }, (_, at) => (35 + at) * 24),
    );
    expect(JSON.stringify(kept).length).toBeLessThan(20_000);
  });

  test("stay the same object where nothing is added, so that nothing is written", () => {
    const kept = withSize(undefined, [START, 1]);
    expect(withSize(kept, [START + 59 * MINUTE, 2])).toBe(kept);
  });

  test("are shown within their span, and not ahead of the clock", () => {
    const points = [0, 1, 8, 9].map((day) => [START + day * DAY, day] as const);
    const kept = { week: points, year: points };
    expect(sizesWithin(kept, "week", START + 8 * DAY)).toEqual([points[2]]);
    expect(sizesWithin(kept, "year", START + 8 * DAY)).toEqual(points.slice(0, 3));
    expect(sizesWithin(undefined, "week", START)).toEqual([]);
  });
});

function world() {
  const clock = manualClock({ startMs: START });
  const { config } = openMemoryStore({ clock });
  /** What the engine knows. An audience that is not there is not evaluated yet. */
  const sizes = new Map<string, number>();
  const written: string[] = [];
  const start = (put: typeof config.put = config.put) =>
    startSizeHistory({ sizes: async () => Array.from(sizes, ([id, size]) => ({ id, size })) }, clock, {
      ...config,
      put(kind, id, ...rest) {
        written.push(id);
        return put(kind, id, ...rest);
      },
    });
  const create = (id: string) =>
    config.put(AUDIENCE, id, audience(id, { kind: "trait", trait: "plan", is: "exists" }).document);
  return { clock, config, sizes, written, start, create };
}

test("an audience gets its first point a minute after it was evaluated, then one an hour with one write", async () => {
  const { clock, sizes, written, start, create } = world();
  const history = await start();
  await create("pros");
  await clock.advance(5 * MINUTE);
  expect(await history.read("pros", "week")).toEqual({ everyMs: HOUR, points: [] });
  sizes.set("pros", 3);
  sizes.set("some_trait", 0);
  await clock.advance(MINUTE);
  const first = { at: "2026-01-01T00:06:00.000Z", size: 3 };
  expect(await history.read("pros", "week")).toEqual({ everyMs: HOUR, points: [first] });
  expect(await history.read("pros", "year")).toEqual({ everyMs: DAY, points: [first] });
  sizes.set("pros", 5);
  await clock.advance(3 * HOUR);
  expect((await history.read("pros", "week")).points.map(({ size }) => size)).toEqual([3, 5, 5, 5]);
  expect((await history.read("pros", "year")).points).toEqual([first]);
  expect(written).toEqual(["pros", "pros", "pros", "pros"]);
  await history.close();
  expect(clock.pending).toBe(0);
});

test("points survive a restart, and the restart adds none", async () => {
  const { clock, sizes, written, start, create } = world();
  await create("pros");
  sizes.set("pros", 3);
  const before = await start();
  await clock.advance(2 * MINUTE);
  await before.close();
  const after = await start();
  await clock.advance(10 * MINUTE);
  expect(written).toEqual(["pros"]);
  sizes.set("pros", 4);
  await clock.advance(HOUR);
  expect((await after.read("pros", "week")).points.map(({ size }) => size)).toEqual([3, 4]);
  await after.close();
});

test("an audience that is deleted loses its points, also if the collector was killed meanwhile", async () => {
  const { clock, config, sizes, start, create } = world();
  await create("pros");
  await create("others");
  sizes.set("pros", 3);
  sizes.set("others", 4);
  const before = await start();
  await clock.advance(MINUTE);
  expect(await config.list("audience_sizes")).toHaveLength(2);
  await config.delete(AUDIENCE, "pros");
  expect((await config.list("audience_sizes")).map(({ id }) => id)).toEqual(["others"]);
  await clock.advance(2 * HOUR);
  expect((await config.list("audience_sizes")).map(({ id }) => id)).toEqual(["others"]);
  await before.close();
  await config.delete(AUDIENCE, "others");
  const after = await start();
  expect(await config.list("audience_sizes")).toEqual([]);
  await after.close();
});

test("a store that cannot be written delays a point and does no harm", async () => {
  const { clock, config, sizes, start, create } = world();
  await create("pros");
  sizes.set("pros", 3);
  let isDiskFull = true;
  const history = await start((...args) =>
    isDiskFull ? Promise.reject(new StorageUnavailable("the disk is full")) : config.put(...args),
  );
  await clock.advance(10 * MINUTE);
  expect((await history.read("pros", "week")).points).toEqual([]);
  isDiskFull = false;
  await clock.advance(MINUTE);
  expect((await history.read("pros", "week")).points).toEqual([{ at: "2026-01-01T00:11:00.000Z", size: 3 }]);
  await history.close();
});

test("the control API answers the points of an audience to a token that may only read", async () => {
  const { clock, config, sizes, start, create } = world();
  await create("pros");
  sizes.set("pros", 3);
  const history = await start();
  await clock.advance(MINUTE);
  await using api = await controlApi({
    endpoints: [countersEndpoint({ counters: {} as never, sizes: history })],
  });
  await api.store.config.put(AUDIENCE, "pros", (await config.get(AUDIENCE, "pros"))?.value);
  const { token } = await api.tokens.create("reader", "read");
  const points = [{ at: "2026-01-01T00:01:00.000Z", size: 3 }];
  const ask = (path: string) => api.ask("GET", `/api/v1/counters?of=audience:${path}`, undefined, { token });
  expect((await ask("pros")).body).toEqual({ everyMs: HOUR, points });
  expect((await ask("pros&span=year")).body).toEqual({ everyMs: DAY, points });
  expect((await ask("pros&span=5m")).body).toMatchObject({ code: "invalid_request" });
  expect((await ask("none")).body).toMatchObject({ code: "not_found" });
  await history.close();
});
