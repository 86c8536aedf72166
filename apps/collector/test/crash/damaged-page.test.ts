import type { Offset } from "@sluice/event-log";
import { openSqliteStore } from "@sluice/event-log";
import { zeroPages } from "@sluice/event-log/testing";
import { systemClock } from "@sluice/resilience";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type CollectorWorld, openCollector, openReceiver } from "../audiences/collector-world.js";
import { isOnCluster } from "../cluster/test-store.js";

let world: CollectorWorld;
let receiver: Awaited<ReturnType<typeof openReceiver>>;
beforeEach(async () => {
  world = await openCollector();
  receiver = await openReceiver();
});
afterEach(async () => {
  await world.close();
  await receiver.close();
});

const track = (messageId: string) => ({ type: "track", userId: "ann", event: "Paid", messageId });

/** Sends one message and returns the response's status. */
async function ingest(messageId: string): Promise<number> {
  const response = await fetch(`${world.collector.url}/v1/batch`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${world.writeKey}:`)}` },
    body: JSON.stringify({ batch: [track(messageId)] }),
  });
  await response.arrayBuffer();
  return response.status;
}

it.skipIf(isOnCluster)(
  "reading outcomes on a damaged page returns an error, and everything else keeps working",
  async () => {
    const destinationId = await world.webhook(receiver.url, [world.sourceId]);
    await world.send([track("old")]);
    await receiver.until((got) => got.length === 1);
    await world.restart(async () => {
      // Old attempts, enough to fill several pages.
      const store = await openSqliteStore({ directory: world.directory, clock: systemClock });
      const offset = (await store.log.find({ messageId: "old" }, { limit: 1 })).items[0]?.offset as Offset;
      const { cursor } = await store.consumers.open(destinationId, offset);
      const attempts = Array.from({ length: 200 }, (_, i) => ({
        offset,
        attempt: i + 1,
        atMs: i,
        url: receiver.url,
        status: 500,
        latencyMs: 1,
        response: `${i} `.repeat(100),
      }));
      for (let i = 0; i < attempts.length; i += 10)
        await store.consumers.settle(destinationId, {
          cursor,
          outcomes: [],
          retries: [],
          attempts: attempts.slice(i, i + 10),
        });
      await store.close();
      zeroPages(world.directory, "chunks");
    });

    let isDone = false;
    const answers: { status: number; body: { code?: string; message?: string } }[] = [];
    const reading = (async () => {
      while (!isDone) answers.push(await world.api("GET", "/messages/old"));
    })();
    const statuses: number[] = [];
    for (let i = 0; i < 60; i++) {
      statuses.push(await ingest(`new-${i}`));
      statuses.push((await fetch(`${world.collector.url}/readyz`)).status);
    }
    isDone = true;
    await reading;

    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(answers.length).toBeGreaterThan(0);
    for (const { status, body } of answers) {
      expect(status).toBe(500);
      expect(body).toMatchObject({
        code: "data_damaged",
        message: expect.stringContaining("`sluice repair`"),
      });
    }
    await receiver.until((got) => got.length === 61);
    expect((await world.api("GET", "/messages/new-59")).status).toBe(200);
  },
);
