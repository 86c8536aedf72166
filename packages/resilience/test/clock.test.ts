import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { backgroundClock, systemClock } from "../src/index.js";
import { manualClock } from "../src/testing.js";

describe.each([
  ["systemClock", systemClock],
  ["backgroundClock", backgroundClock],
])("%s", (_name, clock) => {
  it("ends a sleep at once when the signal aborts, with its reason", async () => {
    const abort = new AbortController();
    const sleep = clock.sleep(3_600_000, abort.signal);
    abort.abort(new Error("closing"));
    await expect(sleep).rejects.toThrow("closing");
    await expect(clock.sleep(3_600_000, abort.signal)).rejects.toThrow("closing");
  });

  it("does not call a cancelled callback", async () => {
    let called = false;
    const cancel = clock.after(0, () => {
      called = true;
    });
    cancel();
    await systemClock.sleep(5);
    expect(called).toBe(false);
  });

  it("does not fire at once if the delay is over the limit of setTimeout", async () => {
    let called = false;
    const cancel = clock.after(2 ** 31, () => {
      called = true;
    });
    await systemClock.sleep(5);
    cancel();
    expect(called).toBe(false);
  });
});

it("timers of the background clock do not keep the process alive", () => {
  const source = fileURLToPath(new URL("../src/clock.ts", import.meta.url));
  const child = spawnSync(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `import { backgroundClock } from ${JSON.stringify(source)}; backgroundClock.after(3_600_000, () => {});`,
    ],
    { timeout: 20_000 },
  );
  expect([child.status, child.signal]).toEqual([0, null]);
});

describe("manualClock", () => {
  it("fires timers in order, each at the time at which it is due", async () => {
    const clock = manualClock({ startMs: 0 });
    const fired: [string, number][] = [];
    clock.after(20, () => fired.push(["b", clock.now()]));
    clock.after(10, () => fired.push(["a", clock.now()]));
    clock.after(31, () => fired.push(["late", clock.now()]));
    await clock.advance(30);
    expect(fired).toEqual([
      ["a", 10],
      ["b", 20],
    ]);
    expect([clock.now(), clock.pending, clock.nextDueMs]).toEqual([30, 1, 31]);
  });

  it("runs a loop of sleeps within one advance", async () => {
    const clock = manualClock({ startMs: 0 });
    const loop = (async () => {
      for (let i = 0; i < 3; i++) await clock.sleep(1_000);
    })();
    await clock.advance(3_000);
    await loop;
    expect(clock.slept).toEqual([1_000, 1_000, 1_000]);
  });

  it("can be set back without delaying timers", async () => {
    const clock = manualClock({ startMs: 10_000 });
    let fired = false;
    clock.after(100, () => {
      fired = true;
    });
    clock.jump(-5_000);
    await clock.advance(100);
    expect([fired, clock.now()]).toEqual([true, 5_100]);
  });

  it("leaves nothing pending when a sleep is aborted", async () => {
    const clock = manualClock();
    const abort = new AbortController();
    const sleep = clock.sleep(1_000, abort.signal);
    abort.abort(new Error("closing"));
    await expect(sleep).rejects.toThrow("closing");
    expect(clock.pending).toBe(0);
  });
});
