import { expect, it } from "vitest";
import type { Offset } from "../../src/message/batch.js";
import { ReadAhead, type ReadRequest } from "../../src/sqlite/client/read-ahead.js";

const END = 7 as Offset;
const AT_END: ReadRequest = { after: END, messages: 500, bytes: 1_000 };
const ANSWER = { rows: [] };

function open() {
  const asked: ReadRequest[] = [];
  const ahead = new ReadAhead();
  const begin = (head: number): void =>
    ahead.begin(head as Offset, async (request) => {
      asked.push(request);
      return ANSWER;
    });
  return { ahead, asked, begin };
}

it("reads once for a reader at the end, which may take the answer in the same turn only", async () => {
  const { ahead, asked, begin } = open();
  ahead.atEnd(AT_END);
  begin(END);
  begin(END);
  expect(asked).toEqual([AT_END]);
  expect(await ahead.take(AT_END)).toBe(ANSWER);
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  expect(ahead.take(AT_END)).toBeUndefined();
});

it("reads nothing for a reader that is not at the end any more", () => {
  const { ahead, asked, begin } = open();
  ahead.atEnd(AT_END);
  begin(END + 1);
  expect(asked).toEqual([]);
});

it("gives an answer only to a read of the same place and size", () => {
  const { ahead, begin } = open();
  ahead.atEnd(AT_END);
  begin(END);
  expect(ahead.take({ ...AT_END, after: 8 as Offset })).toBeUndefined();
  expect(ahead.take({ ...AT_END, messages: 1 })).toBeUndefined();
});

it("leaves a failure to the reader", async () => {
  const { ahead } = open();
  ahead.atEnd(AT_END);
  ahead.begin(END, () => Promise.reject(new Error("the disk is gone")));
  await expect(ahead.take(AT_END)).rejects.toThrow("the disk is gone");
});
