import fc from "fast-check";
import { expect, it } from "vitest";
import type { HeldMessage } from "../../src/index.js";
import { MessageQueue } from "../../src/queue/message-queue.js";

const message = (sequence: number): HeldMessage => ({
  sequence,
  messageId: `m${sequence}`,
  json: "{}",
  bytes: 2,
});

it("behaves like an array, whatever is pushed and taken", () => {
  const step = fc.oneof(
    fc.record({ push: fc.integer({ min: 1, max: 60 }) }),
    fc.record({ take: fc.integer({ min: 0, max: 60 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new MessageQueue();
      const list: HeldMessage[] = [];
      let sequence = 0;
      for (const one of steps) {
        if ("push" in one) {
          for (let i = 0; i < one.push; i++) {
            sequence += 1;
            queue.push(message(sequence));
            list.push(message(sequence));
          }
        } else {
          expect(queue.take(one.take)).toEqual(list.splice(0, one.take));
        }
        expect(queue.length).toBe(list.length);
        expect(queue.peek()).toEqual(list[0]);
        expect(queue.peek(list.length - 1)).toEqual(list.at(-1));
        expect(queue.peek(list.length)).toBeUndefined();
      }
    }),
  );
});

it("has nothing behind its last message when its ring is full", () => {
  const queue = new MessageQueue();
  for (let sequence = 1; sequence <= 16; sequence++) queue.push(message(sequence));
  expect([queue.peek(15)?.sequence, queue.peek(16)]).toEqual([16, undefined]);
});
