import type { PendingMessage } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import type { Engine } from "../../src/engine/runner/audiences.js";
import { OutboxPublisher } from "../../src/engine/runner/outbox.js";

const pending = (seq: number) =>
  ({
    seq,
    message: JSON.stringify({ messageId: `m${seq}`, type: "identify", userId: "ann" }),
    destinationIds: ["dst"],
  }) as unknown as PendingMessage;

/** A publisher over an engine with these pending messages, and a log whose answers the test gives. */
function open(owed: readonly PendingMessage[] = []) {
  const marked: number[] = [];
  const answers: (() => void)[] = [];
  const engine = {
    pendingMessages: async () => owed.filter(({ seq }) => !marked.includes(seq)),
    markPublished: (seq: number) => void marked.push(seq),
    savePublished: async () => {},
  } as Pick<Engine, "pendingMessages" | "markPublished" | "savePublished"> as Engine;
  const publisher = new OutboxPublisher({
    engine,
    log: {
      append: () => new Promise((resolve) => answers.push(() => resolve({ duplicates: [] }))),
      find: async () => ({ items: [] }),
    },
    clock: manualClock(),
    onPublished: () => {},
  });
  return { publisher, marked, answers };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test.each(["publish", "recover"] as const)(
  "an answer to %s that comes after the engine lost its file says nothing about the new one",
  async (how) => {
    const { publisher, marked, answers } = open([pending(7)]);
    if (how === "publish") {
      const recovering = publisher.recover();
      await turns();
      answers.shift()?.();
      await recovering;
      marked.length = 0;
    }
    const doing = how === "publish" ? publisher.publish([pending(7)]) : publisher.recover();
    await turns();
    publisher.markUncertain();
    answers[0]?.();
    await doing;
    expect(marked).toEqual([]);
    expect(publisher.isUncertain).toBe(true);
  },
);

test("an answer in time marks the messages as published", async () => {
  const { publisher, marked, answers } = open([pending(7)]);
  const recovering = publisher.recover();
  await turns();
  answers[0]?.();
  await recovering;
  expect(marked).toContain(7);
  expect(publisher.isUncertain).toBe(false);
});
