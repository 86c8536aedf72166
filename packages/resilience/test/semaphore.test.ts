import { describe, expect, it } from "vitest";
import { semaphore } from "../src/index.js";

describe("semaphore", () => {
  it("admits as many as it has permits, and others in order", async () => {
    const gate = semaphore(1);
    const first = await gate.acquire();
    const entered: string[] = [];
    const enter = async (name: string) => {
      const release = await gate.acquire();
      entered.push(name);
      return release;
    };
    const b = enter("b");
    const c = enter("c");
    expect([gate.held, gate.waiting, gate.tryAcquire()]).toEqual([1, 2, undefined]);
    first();
    (await b)();
    (await c)();
    expect(entered).toEqual(["b", "c"]);
    expect([gate.held, gate.waiting]).toEqual([0, 0]);
  });

  it("counts a release once, however often it is called", () => {
    const gate = semaphore(2);
    const release = gate.tryAcquire();
    gate.tryAcquire();
    release?.();
    release?.();
    expect(gate.held).toBe(1);
  });

  it("removes an aborted waiter, and wakes the next one", async () => {
    const gate = semaphore(1);
    const holder = await gate.acquire();
    const abort = new AbortController();
    const aborted = gate.acquire(abort.signal);
    const patient = gate.acquire();
    abort.abort(new Error("gone"));
    await expect(aborted).rejects.toThrow("gone");
    holder();
    (await patient)();
    expect(gate.held).toBe(0);
  });

  it("rejects at once if the signal has already aborted", async () => {
    await expect(semaphore(1).acquire(AbortSignal.abort(new Error("late")))).rejects.toThrow("late");
  });

  it.each([0, -1, 1.5, Number.NaN])("refuses %s permits", (permits) => {
    expect(() => semaphore(permits)).toThrow(RangeError);
  });
});
