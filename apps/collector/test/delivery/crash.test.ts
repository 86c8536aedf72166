import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verify } from "@sluice/webhooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type CollectorProcess, collectorProcesses, startCollectorProcess } from "./collector-process.js";
import { closeReceivers, type Receiver, startReceiver } from "./receiver.js";

const SECRET = "shared";
/** Each test starts processes, which is slow on a busy machine. */
const LIMIT_MS = 180_000;
/** Maximum wait for something that a process does immediately on an idle machine. */
const PATIENCE_MS = 60_000;
let folder: string;
let receiver: Receiver;

closeReceivers();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-crash-"));
  receiver = await startReceiver();
});
afterEach(() => rm(folder, { recursive: true, force: true }));
// Behind the line above, so that the processes end before their folder is removed.
const children = collectorProcesses();

const start = (): Promise<CollectorProcess> => startCollectorProcess(folder, children);
const track = (messageId: string) => ({ type: "track", event: "Ordered", userId: "u1", messageId });

async function connect(collector: CollectorProcess): Promise<{ writeKey: string; destinationId: string }> {
  const source = await collector.api<{ id: string; writeKeys: { key: string }[] }>("POST", "/sources", {
    name: "Shop",
  });
  const { id } = await collector.api<{ id: string }>("POST", "/destinations", {
    type: "webhooks",
    sourceIds: [source.id],
    settings: { webhooks: [{ url: receiver.url }], sharedSecret: SECRET },
    enabled: true,
  });
  return { writeKey: source.writeKeys[0]?.key ?? "", destinationId: id };
}

interface Outcome {
  readonly state: string;
  readonly nextAttemptAt?: string;
  readonly attempts: readonly { attempt: number; at: string }[];
}
const outcome = async (collector: CollectorProcess, messageId: string): Promise<Outcome | undefined> =>
  (await collector.api<{ outcomes: Outcome[] }>("GET", `/messages/${messageId}`)).outcomes[0];
/** Polls, because the other process does not send notifications. */
const untilState = (collector: CollectorProcess, messageId: string, state: string): Promise<unknown> =>
  vi.waitUntil(async () => (await outcome(collector, messageId))?.state === state, { timeout: PATIENCE_MS });

describe("a killed collector", { timeout: LIMIT_MS }, () => {
  it("delivers acknowledged but undelivered messages after its next start", async () => {
    receiver.answer("hang");
    const first = await start();
    const { writeKey } = await connect(first);
    await first.send(writeKey, [track("m1"), track("m2")]);
    await first.end("SIGKILL");
    receiver.answer(200);
    const second = await start();
    await untilState(second, "m1", "delivered");
    await untilState(second, "m2", "delivered");
    await second.end("SIGTERM");
    for (const { body, headers } of receiver.received) {
      expect(verify(body, String(headers["x-signature"]), SECRET)).toBe(true);
    }
  });

  it("keeps attempts, due times and the start of the retry window", async () => {
    receiver.answer({ status: 503, headers: { "retry-after": "3600" } });
    const first = await start();
    const { writeKey } = await connect(first);
    await first.send(writeKey, [track("m1")]);
    await untilState(first, "m1", "pending");
    await vi.waitUntil(async () => (await outcome(first, "m1"))?.attempts.length === 1, {
      timeout: PATIENCE_MS,
    });
    const before = await outcome(first, "m1");
    await first.end("SIGKILL");
    const second = await start();
    expect(await outcome(second, "m1")).toEqual(before);
    expect(Date.parse(before?.nextAttemptAt ?? "")).toBeGreaterThan(Date.now() + 3_000_000);
    expect(receiver.received).toHaveLength(1);
    await second.end("SIGKILL");
  });

  it("neither loses nor invents messages when killed several times during its work", async () => {
    receiver.answer((request: { messageId: string; attempt: number }) =>
      // A few messages are refused at first. They are retried within seconds.
      /b[05]-7$/.test(request.messageId) && request.attempt === 1 ? 503 : 200,
    );
    const answered: string[] = [];
    let writeKey = "";
    for (let round = 0; round < 3; round++) {
      const collector = await start();
      if (round === 0) ({ writeKey } = await connect(collector));
      for (let batch = 0; batch < 10; batch++) {
        const ids = Array.from({ length: 20 }, (_, index) => `r${round}-b${batch}-${index}`);
        await collector.send(writeKey, ids.map(track));
        answered.push(...ids);
      }
      await collector.end("SIGKILL");
    }
    const last = await start();
    const arrived = (): Set<string> => new Set(receiver.received.map(({ messageId }) => messageId));
    await vi.waitUntil(() => arrived().size === answered.length, { timeout: PATIENCE_MS });
    expect(arrived()).toEqual(new Set(answered));
    for (const { body, headers, messageId } of receiver.received) {
      expect(verify(body, String(headers["x-signature"]), SECRET)).toBe(true);
      expect(JSON.parse(body).messageId).toBe(messageId);
    }
    for (const id of ["r0-b0-0", "r1-b5-7", "r2-b9-19"]) await untilState(last, id, "delivered");
    expect((await last.end("SIGTERM"))[0]).toBe(0);
  });
});

describe("a collector stopped by SIGTERM", { timeout: LIMIT_MS }, () => {
  it("closes in order although the signal comes with its first report that it is ready", async () => {
    const { ended } = await startCollectorProcess(folder, children, "SIGTERM");
    expect(await ended).toEqual([0, null]);
  });

  it("completes deliveries in flight, and does not send them again", async () => {
    const first = await start();
    const { writeKey } = await connect(first);
    receiver.answer((_request, response) => {
      setTimeout(() => response.writeHead(200).end(), 300);
    });
    await first.send(writeKey, [track("m1")]);
    await receiver.until(1);
    expect((await first.end("SIGTERM"))[0]).toBe(0);
    const second = await start();
    expect(await outcome(second, "m1")).toMatchObject({ state: "delivered", attempts: [{ attempt: 1 }] });
    await second.send(writeKey, [track("m2")]);
    await receiver.until(2);
    expect(receiver.received.map(({ messageId }) => messageId)).toEqual(["m1", "m2"]);
    await second.end("SIGTERM");
  });
});
