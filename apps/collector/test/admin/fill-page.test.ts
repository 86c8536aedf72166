import { expect, test } from "vitest";
import { fillPage } from "../../src/admin/paging.js";

test("where the store has read enough for one request and found little, the rest is for the next page", async () => {
  let asked = 0;
  const read = async () => {
    asked += 1;
    return { items: asked === 1 ? ["a", "b"] : [], ...(asked < 50 ? { nextCursor: String(asked) } : {}) };
  };
  const show = async (item: string) => item;
  expect(await fillPage({ limit: 2 }, read, show)).toEqual({ items: ["a", "b"], nextCursor: "1" });
  expect(await fillPage({ limit: 2, cursor: "1" }, read, show)).toEqual({ items: [], nextCursor: "2" });
  expect(asked).toBe(2);
});

test("what is not to be shown is made up for, until enough was looked at", async () => {
  const read = async ({ limit, cursor = "0" }: { limit: number; cursor?: string }) => ({
    items: Array.from({ length: limit }, (_, i) => Number(cursor) + i),
    nextCursor: String(Number(cursor) + limit),
  });
  const every = (nth: number) => async (item: number) => (item % nth === 0 ? item : undefined);
  expect(await fillPage({ limit: 3 }, read, every(2))).toMatchObject({ items: [0, 2, 4] });
  expect(await fillPage({ limit: 100 }, read, every(1_000_000))).toMatchObject({ items: [0] });
});

test("a page that looks at many items lets the event loop go on meanwhile", async () => {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const read = async ({ limit }: { limit: number }) => ({
    items: Array.from({ length: limit }, (_, i) => i),
    nextCursor: "1",
  });
  await fillPage({ limit: 100 }, read, async () => undefined);
  isDone = true;
  // 5,000 items are looked at.
  expect(turns).toBeGreaterThan(200);
});
