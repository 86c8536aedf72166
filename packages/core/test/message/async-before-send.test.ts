import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import type { AnalyticsOptions, OutgoingMessage } from "../../src/index.js";
import { enrichingSender } from "../../src/sending/enriching-sender.js";
import { batchOf } from "../doubles/scripted-sender.js";
import { testEngine } from "../doubles/test-engine.js";

/** An engine whose function answers for each message when the test says so. */
function heldEngine(options: Partial<AnalyticsOptions> = {}) {
  const waiting = new Map<string, (returned: OutgoingMessage | null | Promise<never>) => void>();
  const seen = new Map<string, OutgoingMessage>();
  const world = testEngine(
    {
      beforeSend: (message) => {
        if (message.properties?.sync === true) return message;
        seen.set(message.messageId, message);
        return new Promise((resolve) => waiting.set(message.messageId, resolve));
      },
      ...options,
    },
    { script: [200, 200, 200] },
  );
  const take = (messageId: string, properties: object = {}) =>
    world.engine.take("track", { userId: "u", event: "E", messageId, properties });
  const enrich = (messageId: string, properties: object = { plan: "pro" }) =>
    waiting.get(messageId)?.({ ...(seen.get(messageId) as OutgoingMessage), properties } as OutgoingMessage);
  const sent = () =>
    world.transport.requests.flatMap(
      ({ request }) => (JSON.parse(String(request.body)) as { batch: OutgoingMessage[] }).batch,
    );
  return { ...world, take, enrich, waiting, sent };
}

it("waits for a promise, and keeps the order of the calls", async () => {
  const { engine, take, enrich, sent, runDue } = heldEngine();
  expect(take("m1")).toEqual({ accepted: true, messageId: "m1" });
  take("m2");
  take("m3", { sync: true });
  const flushed = engine.flush();
  enrich("m2");
  await runDue();
  expect(sent()).toEqual([]);
  expect(engine.stats()).toMatchObject({ queued: 3, delivered: 0 });
  enrich("m1");
  await runDue();
  expect(sent().map(({ messageId, properties }) => [messageId, properties])).toEqual([
    ["m1", { plan: "pro" }],
    ["m2", { plan: "pro" }],
    ["m3", { sync: true }],
  ]);
  expect(await flushed).toEqual({ delivered: 3, failed: 0, refused: 0 });
  expect(engine.stats()).toMatchObject({ queued: 0, queuedBytes: 0, delivered: 3 });
});

it("refuses a message whose function takes too long, with a report, and sends the others", async () => {
  const { engine, clock, take, enrich, sent, runDue, errors } = heldEngine({ beforeSendTimeoutMs: 1_000 });
  take("late");
  take("m2");
  const flushed = engine.flush();
  enrich("m2");
  await clock.advance(999);
  await runDue();
  expect(errors).toEqual([]);
  await clock.advance(1);
  await runDue();
  expect(errors).toEqual([
    {
      status: -1,
      message: "beforeSend took longer than 1000 ms",
      detail: { code: "before_send_failed", messages: [{ messageId: "late", json: undefined }] },
    },
  ]);
  enrich("late");
  await runDue();
  expect(sent().map(({ messageId }) => messageId)).toEqual(["m2"]);
  expect(await flushed).toEqual({ delivered: 1, failed: 0, refused: 1 });
  expect(engine.stats()).toMatchObject({ delivered: 1, refused: 1, queued: 0, queuedBytes: 0 });
});

it("drops and refuses after the call as it does within it", async () => {
  const { engine, take, waiting, runDue, errors } = heldEngine();
  for (const id of ["dropped", "thrown", "wrong"]) take(id);
  const flushed = engine.flush();
  waiting.get("dropped")?.(null);
  waiting.get("thrown")?.(Promise.reject(new Error("no network")));
  waiting.get("wrong")?.({ type: "track", messageId: "other" });
  await runDue();
  expect(errors.map(({ message }) => message)).toEqual([
    "beforeSend threw no network",
    "beforeSend changed `type` or `messageId`: both must stay as they are",
  ]);
  expect(await flushed).toEqual({ delivered: 0, failed: 0, refused: 2 });
  expect(engine.stats()).toMatchObject({ dropped: 1, refused: 2, queued: 0, queuedBytes: 0 });
});

it("runs several functions in order, each with what the one before resolved to", async () => {
  const step = (name: string) => (message: OutgoingMessage) => ({
    ...message,
    properties: { by: `${message.properties?.by ?? ""}${name}` },
  });
  const { engine, take, sent, runDue } = heldEngine({
    beforeSend: [step("a"), async (message) => step("b")(message), step("c")],
  });
  take("m1");
  void engine.flush();
  await runDue();
  expect(sent()[0]?.properties).toEqual({ by: "abc" });
});

it("counts waiting messages in the limits of the queue", () => {
  const { take } = heldEngine({ maxQueueSize: 2 });
  take("m1");
  take("m2");
  expect(take("m3")).toMatchObject({ accepted: false, reason: "queue_full", bound: "maxQueueSize" });
});

it("gives up what waits at the deadline of close, without showing it", async () => {
  const { engine, clock, take, runDue, errors, sent } = heldEngine();
  take("m1", { secret: "4111" });
  const closed = engine.close(1_000);
  await runDue();
  await clock.advance(1_000);
  await runDue();
  expect(await closed).toEqual({ delivered: 0, failed: 1, refused: 0 });
  expect(errors).toMatchObject([{ detail: { code: "close_deadline", messages: [{ messageId: "m1" }] } }]);
  expect(JSON.stringify(errors)).not.toContain("4111");
  expect(sent()).toEqual([]);
});

it("keeps only what has been enriched when the process ends at once", async () => {
  const { engine, take, enrich, runDue, errors } = heldEngine();
  take("waits", { secret: "4111" });
  take("ready");
  enrich("ready");
  await runDue();
  const kept: string[] = [];
  engine.endNow((batch) => {
    kept.push(...batch.map(({ json }) => json));
    return "kept";
  });
  expect(kept.map((json) => JSON.parse(json))).toMatchObject([
    { messageId: "ready", properties: { plan: "pro" } },
  ]);
  expect(errors).toMatchObject([{ detail: { code: "exit_deadline", messages: [{ messageId: "waits" }] } }]);
  expect(JSON.stringify([kept, errors])).not.toContain("4111");
});

it("sends a batch without functions as it is, and abandons one whose deadline has passed", async () => {
  const sent: unknown[] = [];
  const DELIVERED = { kind: "delivered", status: 200, rejected: [] } as const;
  const sender = enrichingSender({
    send: async (batch) => {
      sent.push(batch);
      return DELIVERED;
    },
  });
  const plain = batchOf("a");
  expect(await sender.send(plain, new AbortController().signal)).toBe(DELIVERED);
  expect(sent).toEqual([plain]);
  const never = { ...batchOf("b")[0], hooking: { done: new Promise<void>(() => {}), settled: undefined } };
  const late = await sender.send([never as never], AbortSignal.abort());
  expect(late).toMatchObject({ kind: "split", parts: [{ outcome: { kind: "abandoned" } }] });
  const settled = { done: Promise.resolve(), settled: { kind: "dropped" } };
  const { signal } = new AbortController();
  const dropped = await sender.send([{ ...batchOf("c")[0], hooking: settled } as never], signal);
  expect(dropped).toMatchObject({ kind: "split", parts: [{ outcome: { kind: "dropped" } }] });
  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(sent).toHaveLength(1);
});
