import { type Clock, systemClock } from "@sluice/resilience";
import { beforeAll } from "vitest";
// @boundaries-ignore the servers are for tests of all packages
import type { NatsCluster } from "../../../../test/nats/nats-cluster.ts";
import { openJetStream } from "../../src/jetstream/open-jetstream.js";
import { openReplica } from "../../src/replicated/open-replica.js";
import { configStoreContract } from "../contracts/config-store.contract.js";
import { profileStoreContract } from "../contracts/profile-store.contract.js";
import { storeContract } from "../contracts/store.contract.js";
import type { OpenStore } from "../contracts/store-fixture.js";
import { leadSafely } from "../replicated/cluster.js";
import { temporaryDirectories } from "../temporary-directory.js";
import { describeWithNats, engineOptions, natsServers, removeCluster, STORE_NODES } from "./nats.js";

/** `SLUICE_NATS_STORES=1` runs all contracts of the store over one server, `3` over three servers with three replicas. */
const IS_LONG = process.env.SLUICE_NATS_STORES !== undefined;

describeWithNats("stores over NATS JetStream", () => {
  const newServers = natsServers();
  const temporaryDirectory = temporaryDirectories();
  let nats: NatsCluster;
  let clusters = 0;
  beforeAll(async () => {
    nats = await newServers({ nodes: STORE_NODES });
  });
  const newCluster = (): string => {
    clusters += 1;
    return `stores-${clusters}`;
  };

  async function openLeading(
    { cluster, directory, clock, term }: { cluster: string; directory: string; clock: Clock; term: number },
    options: object = {},
  ) {
    const engine = await openJetStream({ ...engineOptions(nats, cluster), replicas: STORE_NODES });
    const replica = await openReplica({ directory, engine, clock, node: "a", ...options });
    const stores = await leadSafely(replica, term);
    return {
      ...stores,
      async close() {
        await stores.stepDown();
        await replica.close();
        await engine.close();
      },
    };
  }

  const open: OpenStore = async (clock, options) => {
    const cluster = newCluster();
    const directory = temporaryDirectory();
    const { store, close } = await openLeading({ cluster, directory, clock, term: 1 }, options);
    return {
      ...store,
      async close() {
        await close();
        await removeCluster(nats, cluster);
      },
    };
  };
  if (IS_LONG) storeContract("JetStream", open);
  else configStoreContract("JetStream", open);

  profileStoreContract("JetStream", async () => {
    const place = { cluster: newCluster(), directory: temporaryDirectory(), clock: systemClock };
    let now = await openLeading({ ...place, term: 1 });
    return {
      store: now.profiles,
      async reopen() {
        await now.close();
        now = await openLeading({ ...place, term: 2 });
        return now.profiles;
      },
      async dispose() {
        await now.close();
        await removeCluster(nats, place.cluster);
      },
    };
  });
});
