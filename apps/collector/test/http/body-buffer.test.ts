import fc from "fast-check";
import { expect, test } from "vitest";
import { BodyBuffer } from "../../src/http/body/body-buffer.js";

function fill(chunks: readonly Buffer[], announced?: number): { body: Buffer; held: number[] } {
  const buffer = new BodyBuffer(announced);
  let held = 0;
  const steps = chunks.map((chunk) => {
    held += buffer.growth(chunk);
    buffer.add(chunk);
    return held;
  });
  return { body: buffer.take(), held: steps };
}

const chunksOf = (bytes: number, each: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes / each) }, (_, i) =>
    Buffer.alloc(Math.min(each, bytes - i * each), i),
  );

test("a chunk that is the whole body is kept as it is", () => {
  const chunk = Buffer.from("whole");
  const { body, held } = fill([chunk], 5);
  expect(body.buffer).toBe(chunk.buffer);
  expect(held).toEqual([5]);
});

test.each<[name: string, chunks: Buffer[], announced: number | undefined, held: number]>([
  ["chunks of one byte share a buffer", chunksOf(3_000, 1), undefined, 4_096],
  ["one that grows doubles", chunksOf(4_097, 1), undefined, 8_192],
  ["a quarter of the announced length makes room for all of it", chunksOf(10_000, 10_000), 40_000, 40_000],
  ["a small part of it does not", chunksOf(100, 1), 500_000, 4_096],
  ["more than announced is taken", chunksOf(20, 10), 10, 20],
])("%s", (_, chunks, announced, held) => {
  expect(fill(chunks, announced).held.at(-1)).toBe(held);
});

test("keeps all bytes in order, and at most four times as many or 4 KB", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 9_000 }), { maxLength: 20 }),
      fc.option(fc.nat(100_000), { nil: undefined }),
      (parts, announced) => {
        const chunks = parts.map((part) => Buffer.from(part));
        const { body, held } = fill(chunks, announced);
        expect(body.equals(Buffer.concat(chunks))).toBe(true);
        let arrived = 0;
        for (const [index, chunk] of chunks.entries()) {
          arrived += chunk.length;
          expect(held[index]).toBeLessThanOrEqual(Math.max(4_096, 4 * arrived));
        }
      },
    ),
  );
});
