import type { Offset } from "@sluice/event-log";
import { openSqliteStore, type RepairReport, repairStore } from "@sluice/event-log";
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

const track = (userId: string, messageId: string) => ({ type: "track", userId, event: "Paid", messageId });

/** Adds enough attempts of a stored message to fill several pages of chunks, then damages the first page. */
async function damageAttemptsOf(messageId: string, destinationId: string): Promise<void> {
  const store = await openSqliteStore({ directory: world.directory, clock: systemClock });
  const offset = (await store.log.find({ messageId }, { limit: 1 })).items[0]?.offset as Offset;
  const { cursor } = await store.consumers.open(destinationId, offset);
  for (let first = 0; first < 200; first += 10) {
    const attempts = Array.from({ length: 10 }, (_, i) => ({
      offset,
      attempt: first + i + 1,
      atMs: first + i,
      url: receiver.url,
      status: 500,
      latencyMs: 1,
      response: `${first + i} `.repeat(100),
    }));
    await store.consumers.settle(destinationId, { cursor, outcomes: [], retries: [], attempts });
  }
  await store.close();
  zeroPages(world.directory, "chunks");
}

/** Polls the deletion until it has one of these statuses. */
async function until(id: string, states: readonly string[]) {
  for (;;) {
    const { body } = await world.api("GET", `/deletions/${id}`);
    if (states.includes(body.status)) return body;
  }
}

it.skipIf(isOnCluster)(
  "a deletion that finds damaged attempts fails with instructions, and finishes after a repair",
  {
    timeout: 120_000,
  },
  async () => {
    const destinationId = await world.webhook(receiver.url, [world.sourceId]);
    await world.send([track("ann", "of-ann"), track("bob", "of-bob")]);
    await receiver.until((got) => got.length === 2);
    await world.restart(() => damageAttemptsOf("of-ann", destinationId));

    const created = await world.api("POST", "/deletions", { userIds: ["ann"], suppress: false });
    expect(created.status).toBe(201);
    const { id } = created.body;
    const failed = await until(id, ["failed", "finished"]);
    expect(failed).toMatchObject({ status: "failed", error: expect.stringContaining("`sluice repair`") });
    // The collector keeps serving other requests.
    await world.send([track("bob", "later-of-bob")]);
    await receiver.until((got) => got.length === 3);

    let report: RepairReport | undefined;
    await world.restart(async () => {
      report = await repairStore({ directory: world.directory });
    });
    expect(report?.lost).toContainEqual(expect.stringMatching(/^attempts at .* of the messages at offsets/));
    const finished = await until(id, ["finished"]);
    expect(finished.error).toBeUndefined();
    expect(finished.receipt.users).toMatchObject([{ messages: 1 }]);
    expect((await world.api("GET", "/messages/of-ann")).status).toBe(404);
    expect((await world.api("GET", "/messages/of-bob")).status).toBe(200);
    expect((await world.api("GET", "/messages/later-of-bob")).status).toBe(200);
  },
);
