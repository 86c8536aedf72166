import { LIMITS } from "@sluice/protocol";
import { expect, it } from "vitest";
import { exceededBound, fullQueueText, type QueueBound, roomFor } from "../../src/queue/queue-limits.js";

const LARGEST = LIMITS.messageBytes;

it.each<[messages: number, bytes: number, next: number, bound: QueueBound | undefined]>([
  [0, 0, 100, undefined],
  [9, 0, 100, undefined],
  [10, 0, 1, "maxQueueSize"],
  [11, 0, 1, "maxQueueSize"],
  [0, 900, 100, undefined],
  [0, 900, 101, "maxQueueBytes"],
  [10, 1_000, 1, "maxQueueSize"],
])("a queue with %i messages and %i bytes, one of %i more: %s", (messages, bytes, next, bound) => {
  expect(exceededBound({ messages: 10, bytes: 1_000 }, { messages, bytes }, next)).toBe(bound);
});

it.each([
  ["by count", 10, 100 * LARGEST, 3, 0, 7],
  ["by bytes, counting each as the largest", 10, 5 * LARGEST, 3, 2 * LARGEST, 3],
  ["no part of a message", 10, 5 * LARGEST, 3, 2 * LARGEST + 1, 2],
  ["none", 10, 5 * LARGEST, 10, 0, 0],
])("room for more: %s", (_name, messages, bytes, held, heldBytes, room) => {
  expect(roomFor({ messages, bytes }, { messages: held, bytes: heldBytes })).toBe(room);
});

it.each<[bound: QueueBound, text: string]>([
  [
    "maxQueueSize",
    "The queue is full (maxQueueSize: 10 messages). Await ready() before each call, or raise maxQueueSize",
  ],
  [
    "maxQueueBytes",
    "The queue is full (maxQueueBytes: 1000 bytes of messages). Await ready() before each call, or raise maxQueueBytes",
  ],
])("says that %s is reached, and what to do", (bound, text) => {
  expect(fullQueueText(bound, { messages: 10, bytes: 1_000 })).toBe(text);
});
