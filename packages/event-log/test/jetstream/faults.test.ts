import { systemClock } from "@sluice/resilience";
import { afterAll, beforeAll, expect, it } from "vitest";
// @boundaries-ignore the servers are for tests of all packages
import type { NatsCluster } from "../../../../test/nats/nats-cluster.ts";
import { type JetStreamEngine, openJetStream } from "../../src/jetstream/open-jetstream.js";
import type { LeaseRecord, LogAppend, ReplicationEngine } from "../../src/replicated/engine.js";
import { readEntries } from "../contracts/replication-engine.contract.js";
import { describeWithNats, engineOptions, natsServers } from "./nats.js";

/** An election of the servers takes 4 to 9 seconds, longer on a slow machine. */
const ELECTION_MS = 120_000;

/** `SLUICE_NATS_FAULTS=all` runs all of them. */
const itInLongRuns = it.skipIf(process.env.SLUICE_NATS_FAULTS !== "all");

/** A step that takes longer says what it waited for, before the time of the test is over. */
const STEP_MS = 80_000;

async function within<T>(work: Promise<T>, waitedFor: () => string): Promise<T> {
  let cancel = (): void => {};
  const tooLate = new Promise<never>((_resolve, reject) => {
    cancel = systemClock.after(STEP_MS, () =>
      reject(new Error(`waited ${STEP_MS / 1_000} s for ${waitedFor()}`)),
    );
  });
  return Promise.race([work, tooLate]).finally(cancel);
}

const entry = (index: number): Uint8Array => new TextEncoder().encode(`entry ${index}`);

/** Appends an entry as a replicated store does: the same again while nothing is known, then a look at the log. */
async function settle(engine: ReplicationEngine, index: number): Promise<"appended" | "deposed"> {
  for (;;) {
    const answer: LogAppend = await engine.log.append(entry(index), index);
    if (answer.kind === "appended") return "appended";
    if (answer.kind === "impossible") throw new Error(answer.reason);
    if (answer.kind === "unknown") {
      await systemClock.sleep(50);
      continue;
    }
    const last = await engine.log.bounds().then(
      (bounds) => bounds.last,
      () => undefined,
    );
    if (last === undefined || last <= index) continue;
    const [found] = await readEntries(engine, index, 1);
    return found?.text === `entry ${index}` ? "appended" : "deposed";
  }
}

describeWithNats("NATS JetStream in trouble", { timeout: ELECTION_MS }, () => {
  const newServers = natsServers();
  let nats: NatsCluster;
  let writer: JetStreamEngine;
  let reader: JetStreamEngine;
  let count = 0;
  /** What the reader has seen, from the first entry on. */
  const seen: number[] = [];
  const leases = new Map<string, LeaseRecord | undefined>();
  let seenUpTo = (_count: number): Promise<void> => Promise.resolve();
  let heldLease = 0;
  const ending = new AbortController();

  async function write(entries: number): Promise<void> {
    for (let index = 0; index < entries; index++) {
      expect(await settle(writer, count)).toBe("appended");
      count += 1;
    }
  }

  /** Renews the lease as soon as that is possible, and waits until the other process sees it. */
  async function renew(value: string): Promise<void> {
    for (;;) {
      try {
        const revision = await writer.leases.put("owner", value, heldLease || undefined);
        if (revision !== undefined) heldLease = revision;
        else heldLease = (await writer.leases.get("owner"))?.revision ?? 0;
        if (revision !== undefined) break;
      } catch {
        // Nothing is known: look, and try again.
        heldLease = (await writer.leases.get("owner").catch(() => undefined))?.revision ?? heldLease;
      }
    }
    while (leases.get("owner")?.value !== value) await systemClock.sleep(50);
  }

  beforeAll(async () => {
    nats = await newServers();
    writer = await openJetStream(engineOptions(nats, "trouble"));
    reader = await openJetStream(engineOptions(nats, "trouble"));
    let wake = (): void => {};
    seenUpTo = async (to) => {
      while (seen.length < to) await new Promise<void>((resolve) => (wake = resolve));
    };
    void (async () => {
      for await (const { sequence, data } of reader.log.read(0, ending.signal)) {
        expect(new TextDecoder().decode(data)).toBe(`entry ${sequence - 1}`);
        seen.push(sequence);
        wake();
      }
    })();
    await reader.leases.watch("", (key, record) => void leases.set(key, record), ending.signal);
  }, ELECTION_MS);
  afterAll(async () => {
    ending.abort();
    await Promise.all([writer?.close(), reader?.close()]);
  });

  /** Whatever happened: everything that was acknowledged is there once, and the reader and the watcher go on. */
  async function goesOn(): Promise<void> {
    const links = (): string =>
      `the writer is ${JSON.stringify(writer.health())}, the reader ${JSON.stringify(reader.health())}`;
    await within(write(5), () => `entry ${count} to be appended: ${links()}`);
    await within(seenUpTo(count), () => `entry ${count} to be read after ${seen.at(-1)}: ${links()}`);
    expect(seen).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    const value = `after ${count}`;
    await within(
      renew(value),
      () => `the lease "${value}" of ${heldLease}: seen is ${JSON.stringify([...leases])}, ${links()}`,
    );
  }

  it("goes on after the log's leader was killed and comes back", async () => {
    await write(5);
    const leader = await nats.leaderOf("sluice-trouble-log");
    await leader.kill();
    await goesOn();
    await leader.start();
    await goesOn();
  });

  itInLongRuns("goes on when a server is wiped", async () => {
    const [first] = nats.nodes;
    await first?.kill();
    first?.wipe();
    await write(5);
    await first?.start();
    await nats.ready();
    await goesOn();
  });

  it("knows nothing about appends while no majority is there, and settles them when it is back", async () => {
    const [one, two] = nats.nodes;
    await Promise.all([one?.kill(), two?.kill()]);
    const answer = await writer.log.append(entry(count), count);
    expect(answer.kind).toBe("unknown");
    // A process that starts meanwhile waits for the servers, for longer than for one answer.
    const another = openJetStream(engineOptions(nats, "trouble"));
    await systemClock.sleep(3_000);
    await Promise.all([one?.start(), two?.start()]);
    await (await another).close();
    await goesOn();
  });

  itInLongRuns("goes on when all servers stopped and started again", async () => {
    await Promise.all(nats.nodes.map((node) => node.stop()));
    while (writer.health().kind === "connected") await systemClock.sleep(20);
    expect(writer.health()).toMatchObject({ kind: "disconnected" });
    await expect(writer.leases.get("owner")).rejects.toMatchObject({ name: "EngineUnavailable" });
    await expect(writer.checkSafety()).rejects.toMatchObject({ name: "EngineUnavailable" });
    await Promise.all(nats.nodes.map((node) => node.start()));
    await goesOn();
    expect(writer.health()).toEqual({ kind: "connected" });
    await writer.checkSafety();
  });

  it("leaves a server that answers nothing any more", async () => {
    const leader = await nats.leaderOf("sluice-trouble-log");
    leader.pause();
    await goesOn();
    leader.continue();
    await nats.ready();
    await goesOn();
  });
});
