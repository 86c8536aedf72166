import { BEFORE_FIRST, DOCUMENT_KINDS, decodeBatch, type Store, type StoredMessage } from "@sluice/event-log";
import { type Clock, systemClock } from "@sluice/resilience";
import type { SourceDocument } from "../../src/documents/documents.js";
import type { IngestServer, IngestServerOptions } from "../ingest/ingest-server.js";
import { postTo } from "../ingest/post-to.js";
import { type OpenedCluster, openClusterCollector } from "./collector-on-cluster.js";
import { HOME, PARTITIONS, testStore } from "./test-store.js";

/** Clusters of this test file by their options, because one takes much longer to start than a server. They are emptied in between. */
const opened = new Map<string, Promise<OpenedCluster>>();

/** Ends the clusters of a test file. */
export async function closeIngestClusters(): Promise<void> {
  for (const cluster of opened.values()) {
    await (await cluster).stop();
    await (await cluster).remove();
  }
  opened.clear();
}

/** The ingestion of three whole collectors with several partitions. Requests are sent to them in turn. */
export async function startIngestCluster<S extends Store>(
  options: IngestServerOptions<S>,
  first: { readonly sourceId: string; readonly writeKey: string; readonly headers: Record<string, string> },
): Promise<IngestServer<S>> {
  const { clock, limits, region = "oregon", regionUrls = {}, messagesPerSecond } = options;
  if (options.store !== undefined || options.suppressed !== undefined)
    throw new Error("A cluster has stores of its own: leave the test out (test/cluster/left-out.ts)");
  const name = JSON.stringify([clock?.now(), limits, region, regionUrls, messagesPerSecond]);
  const store = testStore();
  const cluster = await (opened.get(name) ??
    remember(
      name,
      openClusterCollector(
        store === "embedded" ? "replicated" : store,
        () => ({
          ...{ mode: "dev", region, regionUrls },
          ...(limits === undefined ? {} : { httpLimits: limits }),
          ...(messagesPerSecond === undefined ? {} : { messagesPerSecond }),
        }),
        clock === undefined ? undefined : showing(clock),
      ),
    ));
  const stores = Array.from({ length: PARTITIONS }, (_, number) => cluster.collectorOf(number).store);
  const { config } = cluster.collectorOf(0).store;
  const sources = new Map<string, number>();
  const putSource: IngestServer["putSource"] = async (id, source = {}) => {
    // Each in another partition than the one before.
    const partition = sources.get(id) ?? (HOME + sources.size) % PARTITIONS;
    sources.set(id, partition);
    await config.put(DOCUMENT_KINDS.source, id, {
      name: id,
      kind: "server",
      createdAt: "2026-11-21T00:00:00.000Z",
      writeKeys: [{ key: `wk_of_${id}`, createdAt: "2026-11-21T00:00:00.000Z" }],
      blockedEvents: [],
      partition,
      ...source,
    } satisfies SourceDocument);
  };
  await putSource(first.sourceId, {
    writeKeys: [{ key: first.writeKey, createdAt: "2026-11-21T00:00:00.000Z" }],
  });
  const logged = cluster.logged.length;
  let isClosed = false;
  const { url, port } = cluster.bystander();
  return {
    // Tests of single connections need a process itself: one that passes on.
    ...{ url, port },
    store: cluster.collectorOf(HOME).store as S,
    get live(): never {
      throw new Error("The live events of a process cannot be seen from outside");
    },
    metrics: { render: () => cluster.metrics() } as IngestServer["metrics"],
    get logged() {
      return cluster.logged.slice(logged);
    },
    putSource,
    post: (path, body, headers = first.headers) => postTo(cluster.nextUrl() + path, body, headers),
    messages: async () => (await Promise.all(stores.map(messagesIn))).flat(),
    closeServer: () => Promise.reject(new Error("A cluster is closed as a whole")),
    async close() {
      if (isClosed) return;
      isClosed = true;
      for (const id of sources.keys()) await config.delete(DOCUMENT_KINDS.source, id);
      for (const one of stores) await one.clear();
    },
  };
}

function remember(name: string, cluster: Promise<OpenedCluster>): Promise<OpenedCluster> {
  opened.set(name, cluster);
  return cluster;
}

async function messagesIn({ log }: Store): Promise<StoredMessage[]> {
  const batches = await log.read(BEFORE_FIRST, { messages: 1e9, bytes: 1e12 });
  return batches.flatMap((batch) => decodeBatch(batch));
}

/** The time of a manual clock for what is shown. Leases and timers go on by the real one. */
function showing(manual: Clock): Clock {
  return { ...systemClock, now: () => manual.now() };
}
