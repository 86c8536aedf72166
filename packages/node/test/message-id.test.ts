import { expect, it } from "vitest";
import { uuidSource } from "../src/message-id.js";

it("makes random UUIDs that differ", () => {
  const newId = uuidSource();
  const ids = Array.from({ length: 10_000 }, newId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

it("uses every random bit", () => {
  const newId = uuidSource();
  const seen = Array.from({ length: 36 }, () => new Set<string>());
  for (let i = 0; i < 5_000; i++) [...newId()].forEach((digit, place) => void seen[place]?.add(digit));
  const counts = seen.map((digits) => digits.size);
  expect(counts).toEqual(
    counts.map((_, place) => ({ 8: 1, 13: 1, 14: 1, 18: 1, 19: 4, 23: 1 })[place] ?? 16),
  );
});
