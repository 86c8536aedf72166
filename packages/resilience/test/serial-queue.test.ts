import { describe, expect, it } from "vitest";
import { coalesced, keyedSerialQueue, serialQueue } from "../src/index.js";

/** A task that starts when the queue lets it and ends when the test says so. */
function controlledTask<Result>(name: string, log: string[]) {
  const { promise, resolve, reject } = promiseWithResolvers<Result>();
  const task = async (): Promise<Result> => {
    log.push(`${name} starts`);
    try {
      return await promise;
    } finally {
      log.push(`${name} ends`);
    }
  };
  return { task, resolve, reject };
}

function promiseWithResolvers<Result>() {
  let resolve: (result: Result) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<Result>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

/** Lets every promise reaction that is due run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("serialQueue", () => {
  it("runs tasks one after another, in the order of the calls, and returns their results", async () => {
    const enqueue = serialQueue();
    const log: string[] = [];
    const a = controlledTask<number>("a", log);
    const b = controlledTask<number>("b", log);
    const first = enqueue(a.task);
    const second = enqueue(b.task);
    b.resolve(2);
    await settled();
    expect(log).toEqual(["a starts"]);
    a.resolve(1);
    expect(await Promise.all([first, second])).toEqual([1, 2]);
    expect(log).toEqual(["a starts", "a ends", "b starts", "b ends"]);
  });

  it("starts no task before the call has returned", async () => {
    const enqueue = serialQueue();
    let isStarted = false;
    const done = enqueue(() => {
      isStarted = true;
    });
    expect(isStarted).toBe(false);
    await done;
    expect(isStarted).toBe(true);
  });

  it.each<[name: string, fail: () => Promise<void>]>([
    ["rejects", () => Promise.reject(new Error("boom"))],
    [
      "throws",
      () => {
        throw new Error("boom");
      },
    ],
  ])("runs the next task after one that %s", async (_name, fail) => {
    const enqueue = serialQueue();
    const failed = enqueue(fail);
    const next = enqueue(() => "done");
    await expect(failed).rejects.toThrow("boom");
    expect(await next).toBe("done");
  });

  it("makes no unhandled rejection of an error that nobody handles", async () => {
    const enqueue = serialQueue();
    void enqueue(() => Promise.reject(new Error("dropped")));
    await settled();
    expect(await enqueue(() => "done")).toBe("done");
  });
});

describe("keyedSerialQueue", () => {
  it("keeps the order within a key and lets other keys run beside it", async () => {
    const enqueue = keyedSerialQueue();
    const log: string[] = [];
    const a1 = controlledTask<void>("a1", log);
    const a2 = controlledTask<void>("a2", log);
    const b1 = controlledTask<void>("b1", log);
    const all = [enqueue("a", a1.task), enqueue("a", a2.task), enqueue("b", b1.task)];
    await settled();
    expect(log).toEqual(["a1 starts", "b1 starts"]);
    a1.reject(new Error("boom"));
    await expect(all[0]).rejects.toThrow("boom");
    await settled();
    expect(log).toEqual(["a1 starts", "b1 starts", "a1 ends", "a2 starts"]);
    a2.resolve();
    b1.resolve();
    await Promise.all(all.slice(1));
  });

  it("starts afresh for a key whose tasks have all ended", async () => {
    const enqueue = keyedSerialQueue();
    expect(await enqueue("a", () => 1)).toBe(1);
    await settled();
    expect(await enqueue("a", () => 2)).toBe(2);
  });
});

describe("coalesced", () => {
  it("runs once more for all calls that arrive during a run", async () => {
    const log: string[] = [];
    const runs = [controlledTask<string>("1", log), controlledTask<string>("2", log)];
    let started = 0;
    const request = coalesced(() => runs[started++]?.task());
    const first = request();
    await settled();
    const later = [request(), request(), request()];
    runs[0]?.resolve("first");
    runs[1]?.resolve("second");
    expect(await Promise.all([first, ...later])).toEqual(["first", "second", "second", "second"]);
    expect(log).toEqual(["1 starts", "1 ends", "2 starts", "2 ends"]);
  });

  it("shares a run that has not started", async () => {
    let runs = 0;
    const request = coalesced(() => {
      runs += 1;
      return runs;
    });
    expect(await Promise.all([request(), request()])).toEqual([1, 1]);
    expect(await request()).toBe(2);
  });

  it("runs again after a run that failed, and rejects only the calls that shared it", async () => {
    let runs = 0;
    const request = coalesced(async () => {
      runs += 1;
      if (runs === 1) throw new Error("boom");
      return runs;
    });
    const first = request();
    await Promise.resolve();
    await Promise.resolve();
    const second = request();
    await expect(first).rejects.toThrow("boom");
    expect(await second).toBe(2);
  });
});
