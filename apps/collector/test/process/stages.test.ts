import { expect, test } from "vitest";
import { stagesToClose } from "../../src/process/stages.js";

test("closes in reverse order, and passes the remaining time to each stage", async () => {
  let nowMs = 100;
  const closed: [string, number][] = [];
  const stages = stagesToClose(() => nowMs);
  for (const name of ["store", "delivery", "server"]) {
    stages.keep(name, (it, leftMs) => {
      closed.push([it, leftMs]);
      nowMs += 6_000;
    });
  }
  await stages.close(8_000);
  expect(closed).toEqual([
    ["server", 8_000],
    ["delivery", 2_000],
    ["store", 0],
  ]);
});

test("closes the other stages if one fails, then throws", async () => {
  const closed: string[] = [];
  const stages = stagesToClose();
  stages.keep("store", (it) => void closed.push(it));
  stages.keep("server", () => Promise.reject(new Error("stuck")));
  await expect(stages.close(0)).rejects.toThrow("stuck");
  expect(closed).toEqual(["store"]);
});

test("closes each once", async () => {
  let closings = 0;
  const stages = stagesToClose();
  stages.keep("store", () => void closings++);
  await stages.close(0);
  await stages.close(0);
  expect(closings).toBe(1);
});
