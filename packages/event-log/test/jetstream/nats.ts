import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { systemClock } from "@sluice/resilience";
import { afterAll, describe } from "vitest";
// @boundaries-ignore the servers are for tests of all packages
import { type NatsCluster, startNatsCluster } from "../../../../test/nats/nats-cluster.ts";
// @boundaries-ignore the servers are for tests of all packages
import { findNatsServer } from "../../../../test/nats/nats-server.ts";
import type { JetStreamOptions } from "../../src/jetstream/open-jetstream.js";
import { streamNames } from "../../src/jetstream/streams/stream-settings.js";
import { temporaryDirectories } from "../temporary-directory.js";

const server = findNatsServer();
const isSkipped = server.kind === "missing" && process.env.CI === undefined;
if (server.kind === "missing" && isSkipped) console.warn(`skipped: ${server.reason}`);

/** Servers, and replicas, below whole stores: `SLUICE_NATS_STORES=3` for three. */
export const STORE_NODES: number = process.env.SLUICE_NATS_STORES === "3" ? 3 : 1;

/** On CI a missing server is a failure, not a skip. */
export const describeWithNats = describe.skipIf(isSkipped);

type NatsOptions = Omit<Parameters<typeof startNatsCluster>[0], "directory">;

/** Starts NATS servers that end with the file's tests. */
export function natsServers(): (options?: NatsOptions) => Promise<NatsCluster> {
  const newDirectory = temporaryDirectories();
  const started: NatsCluster[] = [];
  afterAll(() => Promise.all(started.map((cluster) => cluster.close())));
  return async (options = {}) => {
    const cluster = await startNatsCluster({ ...options, directory: newDirectory() });
    started.push(cluster);
    return cluster;
  };
}

/** Small enough that many clusters fit into the servers of a test. */
const LOG_BYTES = 20 * 1024 * 1024;

export function engineOptions(nats: NatsCluster, cluster: string): JetStreamOptions {
  return { servers: nats.urls, monitors: nats.monitors, cluster, clock: systemClock, maxLogBytes: LOG_BYTES };
}

/** Removes the streams of a cluster, so that the servers have less to do for the next one. */
export async function removeCluster(nats: NatsCluster, cluster: string): Promise<void> {
  const connection = await connect({ servers: [...nats.urls] });
  const { streams } = await jetstreamManager(connection);
  const names = streamNames(cluster);
  for (const stream of [names.log, names.leases, names.snapshots])
    await streams.delete(stream).catch(() => false);
  await connection.close();
}
