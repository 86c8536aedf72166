/** What the tests of destination packages do alike on a real server. */
import { connect as connectPlain } from "node:net";
import type { TestCollector } from "@sluice/collector/testing";
import type { BatchResult, Connect, DeliversBatches, OutgoingMessage } from "@sluice/destination";
import type { ContractWorld } from "@sluice/destination/contract";
import { expect, onTestFinished } from "vitest";

type Destination = ContractWorld["destination"];

/** Connects like the collector, to any address. */
export const connectAnywhere: Connect = ({ host, port, signal }) =>
  new Promise((resolve, reject) => {
    const socket = connectPlain({ host, port, ...(signal === undefined ? {} : { signal }) });
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });

/** Closes it after the test. */
export async function openedFor(
  { definition }: Destination,
  settings: object,
  connect: Connect = connectAnywhere,
): Promise<DeliversBatches> {
  const context = { connect, now: () => 0, log() {} };
  const open = (await definition.open(settings as never, context)) as DeliversBatches;
  onTestFinished(() => open.close?.());
  return open;
}

export const attempt = (signal: AbortSignal = new AbortController().signal) => ({
  ...{ number: 1, isLast: false, signal },
});

export const message = (id: string, payload: object = {}): OutgoingMessage => ({
  id,
  sourceId: "src_1",
  timestamp: "2026-01-02T03:04:05.678Z",
  position: 7,
  receivedAtMs: Date.parse("2026-01-02T03:04:06.000Z"),
  payload: { version: 1, type: "track", event: "Ordered", userId: "u1", messageId: id, ...payload },
});

export const deliver = (
  open: DeliversBatches,
  ...messages: readonly OutgoingMessage[]
): Promise<BatchResult> => open.deliverBatch({ range: { from: 0, to: 0 }, id: "0", messages }, attempt());

/** Connects a collector to the destination, and closes it after the test. */
export async function connected(
  starting: Promise<TestCollector>,
  { definition: { type } }: Destination,
  settings: object,
): Promise<{ readonly collector: TestCollector; readonly id: string }> {
  const collector = await starting;
  onTestFinished(() => collector.close());
  const body = { type, sourceIds: [collector.sourceId], settings };
  const { id } = (await collector.api("POST", "/destinations", body)) as { id: string };
  return { collector, id };
}

/** Polls, and lets time go by in the collector meanwhile. */
export const later = <T>(collector: TestCollector, read: () => Promise<T>) =>
  expect.poll(
    async () => {
      await collector.advance(10_000);
      return read();
    },
    { interval: 300 },
  );
