import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchBody, ENVELOPE_BYTES, type HeldMessage } from "../../src/message/batch.js";
import { cutBatch } from "../../src/queue/message-queue.js";

const held = (bytes: number, sequence = 1): HeldMessage => ({
  sequence,
  messageId: "m",
  json: `"${"x".repeat(bytes - 2)}"`,
  bytes,
});
const cut = (messages: HeldMessage[], limits: { messages: number; bytes: number }) =>
  cutBatch((offset) => messages[offset], limits);

describe("cutBatch", () => {
  it("takes nothing from an empty queue", () => {
    expect(cut([], { messages: 100, bytes: 512_000 })).toBe(0);
  });

  it("stops at the count", () => {
    expect(
      cut(
        Array.from({ length: 250 }, () => held(10)),
        { messages: 100, bytes: 512_000 },
      ),
    ).toBe(100);
  });

  it("counts the envelope and the commas, to the byte", () => {
    const messages = [held(100), held(100), held(100)];
    const exact = ENVELOPE_BYTES + 302;
    expect(cut(messages, { messages: 100, bytes: exact })).toBe(3);
    expect(cut(messages, { messages: 100, bytes: exact - 1 })).toBe(2);
  });

  it("takes at least one message, because its size was checked before", () => {
    expect(cut([held(1_000)], { messages: 100, bytes: 10 })).toBe(1);
  });

  it("makes the largest bodies within the limit", () => {
    const sizes = fc.array(fc.integer({ min: 2, max: 400 }), { minLength: 1, maxLength: 80 });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 500, max: 4_000 }), (bytes, limit) => {
        const messages = bytes.map((size) => held(size));
        const count = cut(messages, { messages: 50, bytes: limit });
        const size = (n: number) =>
          Buffer.byteLength(batchBody(messages.slice(0, n), new Date(0).toISOString()));
        expect(count).toBeGreaterThan(0);
        if (count > 1) expect(size(count)).toBeLessThanOrEqual(limit);
        if (count < Math.min(50, messages.length)) expect(size(count + 1)).toBeGreaterThan(limit);
      }),
    );
  });
});
