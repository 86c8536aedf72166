import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { backgroundClock, systemClock } from "../src/index.js";
import { manualClock } from "../src/testing.js";
import { answeringThread } from "./answering-thread.js";

/** Longer than a busy machine takes to send a request, because the deadline must not pass before this thread stands still. */
const TIMEOUT_MS = 400;

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

describe("a process that stood still beyond a deadline", () => {
  const clock = systemClock;

  it("reads what has arrived before it calls back", async () => {
    const peer = await answeringThread();
    const socket = connect({ port: peer.port, host: "127.0.0.1" });
    const seen: string[] = [];
    socket.once("data", () => seen.push("answer"));
    await once(socket, "connect");
    socket.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n");
    const startedMs = clock.monotonic();
    const deadline = new Promise<void>((resolve) => {
      clock.after(TIMEOUT_MS, () => {
        seen.push("deadline");
        resolve();
      });
    });
    await peer.standStill(clock.monotonic, startedMs + TIMEOUT_MS + 20);
    await deadline;
    expect(seen).toEqual(["answer", "deadline"]);
    socket.destroy();
    await peer.close();
  });

  it("does not call a callback that another one of the same moment cancels", async () => {
    let called = false;
    clock.after(1, () => cancel());
    const cancel = clock.after(1, () => {
      called = true;
    });
    const sinceMs = clock.monotonic();
    while (clock.monotonic() - sinceMs < 5);
    await systemClock.sleep(5);
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
    { timeout: 60_000 },
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

it("a delay that is not a number fires at once, instead of never", async () => {
  await new Promise<void>((resolve) => systemClock.after(Number.NaN, resolve));
});
