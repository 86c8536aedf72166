import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { systemClock } from "@sluice/resilience";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
// @boundaries-ignore the servers are for tests of all packages
import type { NatsCluster } from "../../../../test/nats/nats-cluster.ts";
import { openJetStream } from "../../src/jetstream/open-jetstream.js";
import { streamNames } from "../../src/jetstream/streams/stream-settings.js";
import { SnapshotDamaged, type SnapshotStorage } from "../../src/replicated/engine.js";
import { replicationEngineContract } from "../contracts/replication-engine.contract.js";
import { describeWithNats, engineOptions, natsServers, removeCluster } from "./nats.js";

describeWithNats("NATS JetStream", () => {
  const newServers = natsServers();

  replicationEngineContract("three NATS servers", async () => {
    const nats = await newServers();
    let clusters = 0;
    return {
      async newCluster() {
        clusters += 1;
        const name = `contract-${clusters}`;
        return {
          connect: () => openJetStream(engineOptions(nats, name)),
          close: () => removeCluster(nats, name),
        };
      },
      close: () => nats.close(),
    };
  });

  describe("snapshots in trouble", () => {
    const { snapshots: stream, snapshotBucket } = streamNames("damage");
    const chunksOf = (nuid: string): string => `$O.${snapshotBucket}.C.${nuid}`;
    let nats: NatsCluster;
    let connection: NatsConnection;
    let snapshots: SnapshotStorage;
    const closing: (() => Promise<unknown>)[] = [];

    beforeAll(async () => {
      nats = await newServers({ nodes: 1 });
      connection = await connect({ servers: [...nats.urls] });
      closing.push(() => connection.close());
      snapshots = await storage();
    });
    afterAll(() => Promise.all(closing.map((close) => close())));

    /** As another process has it, whose clock is ahead. */
    async function storage(aheadMs = 0): Promise<SnapshotStorage> {
      const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
      const engine = await openJetStream({ ...engineOptions(nats, "damage"), replicas: 1, clock });
      closing.push(() => engine.close());
      return engine.snapshots;
    }

    async function* parts(...texts: string[]): AsyncGenerator<Uint8Array> {
      for (const text of texts) yield Buffer.from(text);
    }

    async function read(name: string): Promise<string> {
      const found: Uint8Array[] = [];
      for await (const part of (await snapshots.get(name)) ?? []) found.push(part);
      return Buffer.concat(found).toString();
    }

    /** The ids of everything that has chunks. */
    async function uploads(): Promise<string[]> {
      const { streams } = await jetstreamManager(connection);
      const { state } = await streams.info(stream, { subjects_filter: chunksOf("*") });
      return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(chunksOf("").length));
    }

    it("refuses bytes that are not those that were stored, and bytes that are missing", async () => {
      await snapshots.put("changed", {}, parts("hello world"));
      const [nuid = ""] = await uploads();
      const { streams } = await jetstreamManager(connection);
      await streams.purge(stream, { filter: chunksOf(nuid) });
      await expect(read("changed")).rejects.toThrow("has 0 of 1 parts");
      await jetstream(connection).publish(chunksOf(nuid), "hello there");
      const error: unknown = await read("changed").catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(SnapshotDamaged);
      expect((error as Error).message).toContain("does not have the bytes that were stored");
      await snapshots.put("changed", {}, parts("hello again"));
      expect(await read("changed")).toBe("hello again");
      await snapshots.remove("changed");
    });

    it("removes what an upload left behind whose process ended, but no upload that may be under way", async () => {
      await jetstream(connection).publish(chunksOf("abandoned"), "half of a snapshot");
      await snapshots.put("first", {}, parts("one"));
      expect(await uploads()).toContain("abandoned");
      await (await storage(2 * 60 * 60_000)).put("second", {}, parts("two"));
      expect(await uploads()).not.toContain("abandoned");
      expect([await read("first"), await read("second")]).toEqual(["one", "two"]);
    });
  });
});
