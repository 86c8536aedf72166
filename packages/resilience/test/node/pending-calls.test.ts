import { expect, it } from "vitest";
import { PendingCalls } from "../../src/node.js";

it("settles calls by their ids, in any order, once", async () => {
  const calls = new PendingCalls();
  const first = calls.add<string>();
  const second = calls.add<string>();
  calls.resolve(second.id, "second");
  calls.reject(first.id, new Error("no"));
  calls.resolve(first.id, "too late");
  expect(calls.size).toBe(0);
  await expect(first.result).rejects.toThrow("no");
  expect(await second.result).toBe("second");
});

it("rejects all that are pending, the oldest first, and goes on", async () => {
  const calls = new PendingCalls();
  const rejected: [number, string][] = [];
  for (const { id, result } of [calls.add(), calls.add(), calls.add()])
    result.catch((error: Error) => rejected.push([id, error.message]));
  calls.rejectAll((isOldest) => new Error(isOldest ? "under way" : "queued"));
  const next = calls.add<number>();
  calls.resolve(next.id, 4);
  expect(await next.result).toBe(4);
  expect(rejected).toEqual([
    [1, "under way"],
    [2, "queued"],
    [3, "queued"],
  ]);
});
