import { randomUUID } from "node:crypto";
// @boundaries-ignore the servers are for tests of all packages
import type { NatsCluster } from "../../../../test/nats/nats-cluster.ts";
import { openJetStream } from "../../src/jetstream/open-jetstream.js";
import type { ReplicationEngine } from "../../src/replicated/engine.js";
import { engineOptions, removeCluster, STORE_NODES } from "../jetstream/nats.js";
import { type Engines, MAX_ENTRY_BYTES } from "./changing-owners.js";

/** A new cluster on these servers. Each process has a connection of its own. */
export async function jetStreamEngines(nats: NatsCluster): Promise<Engines> {
  const cluster = randomUUID();
  const opened: ReplicationEngine[] = [];
  return {
    async engineFor() {
      const engine = await openJetStream({ ...engineOptions(nats, cluster), replicas: STORE_NODES });
      opened.push(engine);
      return { ...engine, log: { ...engine.log, maxEntryBytes: MAX_ENTRY_BYTES } };
    },
    async close() {
      for (const engine of opened) await engine.close();
      await removeCluster(nats, cluster);
    },
  };
}
