import { temporaryDirectories } from "@sluice/event-log/testing";
import { expect, it, vi } from "vitest";
import {
  type CollectorProcess,
  collectorProcesses,
  sendUntilKilled,
  startCollectorProcess,
} from "../delivery/collector-process.js";
import { closeReceivers, type Received, startReceiver } from "../delivery/receiver.js";

/** Crashes per run. Set `SLUICE_CRASHES=300` for a long run. */
const CRASHES = Number(process.env.SLUICE_CRASHES ?? 4);
/** Maximum number of concurrent requests. */
const SENDERS = 4;
const MOST_A_BATCH = 20;

const temporaryDirectory = temporaryDirectories();
const children = collectorProcesses();
closeReceivers();

/** 1 of 50 messages is refused permanently, and 1 of 100 once. More retries would be spread over up to a minute. */
function answerTo({ messageId, attempt }: Received): number {
  const turn = Number(messageId.split("-")[1]) % 100;
  if (turn % 50 === 13) return 400;
  return turn === 7 && attempt === 1 ? 503 : 200;
}

/** Returns the ids of all failed deliveries from the control API. */
async function failedIds(collector: CollectorProcess): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const page = await collector.api<{ items: { messageId: string }[]; nextCursor?: string }>(
      "GET",
      `/deliveries?state=failed&limit=100${cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    for (const { messageId } of page.items) ids.add(messageId);
    cursor = page.nextCursor;
    if (cursor === undefined) return ids;
  }
}

it(`delivers or lists as failed every message that got a 200, over ${CRASHES} kills`, {
  timeout: 180_000 + CRASHES * 10_000,
}, async () => {
  const folder = temporaryDirectory();
  const receiver = await startReceiver();
  const delivered = new Set<string>();
  receiver.answer((request: Received) => {
    const status = answerTo(request);
    if (status === 200) delivered.add(request.messageId);
    return status;
  });
  const answered = new Set<string>();
  let sent = 0;
  const nextBatch = () =>
    Array.from({ length: 1 + Math.floor(Math.random() * MOST_A_BATCH) }, () => ({
      type: "track",
      event: "Ordered",
      userId: "u1",
      messageId: `m-${sent++}`,
    }));
  let writeKey = "";
  for (let crash = 0; crash < CRASHES; crash++) {
    const collector = await startCollectorProcess(folder, children);
    if (crash === 0) {
      const source = await collector.api<{ id: string; writeKeys: { key: string }[] }>("POST", "/sources", {
        name: "Shop",
      });
      await collector.api("POST", "/destinations", {
        type: "webhooks",
        sourceIds: [source.id],
        settings: { webhooks: [{ url: receiver.url }] },
        enabled: true,
      });
      writeKey = source.writeKeys[0]?.key ?? "";
    }
    const before = answered.size;
    const enough = 1 + Math.floor(Math.random() * 600);
    const loads = Array.from({ length: SENDERS }, () =>
      sendUntilKilled(collector, writeKey, nextBatch, answered),
    );
    await vi.waitUntil(() => answered.size >= before + enough, { timeout: 60_000, interval: 1 });
    await collector.end("SIGKILL");
    await Promise.all(loads);
  }

  const last = await startCollectorProcess(folder, children);
  const missing = async (): Promise<string[]> => {
    const failed = await failedIds(last);
    return [...answered].filter((id) => !delivered.has(id) && !failed.has(id));
  };
  await vi.waitUntil(async () => (await missing()).length === 0, { timeout: 120_000, interval: 500 });
  expect(await missing()).toEqual([]);
  for (const id of await failedIds(last)) expect(Number(id.split("-")[1]) % 50).toBe(13);
  for (const { messageId } of receiver.received) expect(Number(messageId.split("-")[1])).toBeLessThan(sent);
  // Figures for a long run.
  console.log(
    `${CRASHES} kills, ${answered.size} messages answered 200, ${delivered.size} delivered, ${receiver.received.length} requests received`,
  );
  expect((await last.end("SIGTERM"))[0]).toBe(0);
});
