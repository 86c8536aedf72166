import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectories } from "@sluice/event-log/testing";
import { expect, it, vi } from "vitest";
import { restoreBackup } from "../../src/backups/restore.js";
import {
  ADMIN_TOKEN,
  type CollectorProcess,
  collectorProcesses,
  sendUntilKilled,
  startCollectorProcess,
} from "../delivery/collector-process.js";
import { closeReceivers, type Received, startReceiver } from "../delivery/receiver.js";
import { requestBackup } from "./request-backup.js";

/** Messages that are accepted before, between and after the backups. Set `SLUICE_DRILL=20000` for a long run. */
const ENOUGH = Number(process.env.SLUICE_DRILL ?? 400);
const A_BATCH = 10;

const temporaryDirectory = temporaryDirectories();
const children = collectorProcesses();
closeReceivers();

interface Listed {
  readonly items: readonly { messageId: string; outcomes: readonly { state: string }[] }[];
  readonly nextCursor?: string;
}

/** The state of each stored message's delivery. */
async function statesIn(collector: CollectorProcess): Promise<Map<string, string>> {
  const states = new Map<string, string>();
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const page: Listed = await collector.api<Listed>(
      "GET",
      `/messages?limit=500&cursor=${encodeURIComponent(cursor)}`,
    );
    for (const { messageId, outcomes } of page.items) states.set(messageId, outcomes[0]?.state ?? "none");
    cursor = page.nextCursor;
  }
  return states;
}

it("restores everything that was acknowledged before a backup under load, with its outcome", {
  timeout: 240_000,
}, async () => {
  const receiver = await startReceiver();
  const isRefused = (messageId: string): boolean => Number(messageId.split("-")[1]) % 50 === 13;
  receiver.answer(({ messageId }: Received) => (isRefused(messageId) ? 400 : 200));
  const folder = temporaryDirectory();
  const collector = await startCollectorProcess(folder, children);
  const source = await collector.api<{ id: string; writeKeys: { key: string }[] }>("POST", "/sources", {
    name: "Shop",
  });
  await collector.api("POST", "/destinations", {
    type: "webhooks",
    sourceIds: [source.id],
    settings: { webhooks: [{ url: receiver.url }] },
    enabled: true,
  });
  const answered = new Set<string>();
  let sent = 0;
  const writeKey = source.writeKeys[0]?.key ?? "";
  const nextBatch = () =>
    Array.from({ length: A_BATCH }, () => {
      const no = sent++;
      return { type: "track", event: "Ordered", userId: `u${no % 20}`, messageId: `m-${no}` };
    });
  const loads = Array.from({ length: 3 }, () => sendUntilKilled(collector, writeKey, nextBatch, answered));
  const more = async (): Promise<void> => {
    const enough = answered.size + ENOUGH;
    await vi.waitUntil(() => answered.size >= enough, { timeout: 60_000, interval: 5 });
  };

  const backups: { readonly file: string; readonly acknowledged: ReadonlySet<string> }[] = [];
  for (const name of ["first.tar", "second.tar"]) {
    await more();
    const acknowledged = new Set(answered);
    const file = join(temporaryDirectory(), name);
    await writeFile(file, await requestBackup(collector.url, ADMIN_TOKEN));
    backups.push({ file, acknowledged });
  }
  await more();
  await collector.end("SIGKILL");
  await Promise.all(loads);

  for (const { file, acknowledged } of backups) {
    const directory = join(temporaryDirectory(), "restored");
    await restoreBackup({ from: file, directory });
    const restored = await startCollectorProcess(directory, children);
    const wanted = [...acknowledged];
    const expected = new Map(wanted.map((id) => [id, isRefused(id) ? "failed" : "delivered"]));
    // Those that were not delivered at the time of the backup are delivered now.
    const differing = async (): Promise<string[]> => {
      const states = await statesIn(restored);
      return wanted.filter((id) => states.get(id) !== expected.get(id));
    };
    await vi.waitUntil(async () => (await differing()).length === 0, { timeout: 60_000, interval: 200 });
    expect(await differing()).toEqual([]);
    expect((await restored.end("SIGTERM"))[0]).toBe(0);
  }
});
