import { JetStreamApiError } from "@nats-io/jetstream";
import { errors } from "@nats-io/transport-node";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { followStream, type StreamAccess } from "../../src/jetstream/follow-stream.js";

const notFound = new JetStreamApiError({ code: 404, err_code: 10014, description: "consumer not found" });

it("removes a reader that the servers may have made although they did not answer, also if they make it late", async () => {
  const clock = manualClock();
  const asked: string[] = [];
  const removed: string[] = [];
  const access = {
    clock,
    link: { connected: async () => true },
    manager: {
      consumers: {
        add: async (_stream: string, { name }: { name: string }) => {
          asked.push(name);
          if (asked.length > 1) return new Promise(() => {});
          throw new errors.TimeoutError();
        },
        delete: async (_stream: string, name: string) => {
          removed.push(name);
          throw notFound;
        },
      },
    },
  } as unknown as StreamAccess;
  const ending = new AbortController();
  void followStream(access, { stream: "log", from: 1, signal: ending.signal }).next();
  while (removed.length < 1) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(100);
  expect(asked).toHaveLength(2);
  for (let minute = 0; minute < 3; minute++) await clock.advance(60_000);
  expect(removed).toEqual([asked[0], asked[0]]);
  ending.abort();
});

it("removes a reader three times at most while the servers do not answer", async () => {
  const clock = manualClock();
  const removed: string[] = [];
  const access = {
    clock,
    link: { connected: async () => true },
    manager: {
      consumers: {
        add: async () =>
          removed.length === 0 ? Promise.reject(new errors.TimeoutError()) : new Promise(() => {}),
        delete: async (_stream: string, name: string) => {
          removed.push(name);
          throw new errors.TimeoutError();
        },
      },
    },
  } as unknown as StreamAccess;
  const ending = new AbortController();
  void followStream(access, { stream: "log", from: 1, signal: ending.signal }).next();
  while (removed.length < 1) await new Promise((resolve) => setImmediate(resolve));
  for (let minute = 0; minute < 5; minute++) await clock.advance(60_000);
  expect(removed).toHaveLength(3);
  ending.abort();
});
