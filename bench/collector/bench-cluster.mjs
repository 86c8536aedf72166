/** Built collectors for `scale-out.bench.mjs`: one on its own, or three on three NATS servers that sync every write. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
// @boundaries-ignore the processes are those of `npm run cluster`
import { collectorProcess } from "../../scripts/cluster/collector-process.ts";
// @boundaries-ignore the servers are those of the tests
import { startNatsCluster } from "../../test/nats/nats-cluster.ts";
import { ADMIN_TOKEN } from "./started-collector.mjs";

const NAMES = ["a", "b", "c"];
const ENVIRONMENT = {
  SLUICE_ADMIN_TOKEN: ADMIN_TOKEN,
  SLUICE_SECRET_KEY: Buffer.alloc(32, 5).toString("base64"),
  SLUICE_ALLOW_TARGETS: "127.0.0.0/8",
  SLUICE_MESSAGES_PER_SECOND: "none",
};
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const urlOf = ({ port }) => `http://127.0.0.1:${port}`;

/** Calls the control API. */
export async function callApi(url, path, body) {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

/** A collector on its own. */
export async function startAlone(directory) {
  const collector = collectorProcess({
    node: "alone",
    directory: join(directory, "alone"),
    env: ENVIRONMENT,
  });
  await collector.start();
  return { owner: collector, followers: [], servers: [], close: () => collector.stop() };
}

/** Three collectors on three NATS servers. */
export async function startCluster(directory) {
  mkdirSync(join(directory, "nats"));
  const nats = await startNatsCluster({ directory: join(directory, "nats"), maxStore: "8GB" });
  const env = {
    ...ENVIRONMENT,
    SLUICE_CLUSTER_SERVERS: nats.urls.join(","),
    SLUICE_CLUSTER_MONITORS: nats.monitors.join(","),
  };
  const collectors = NAMES.map((node) =>
    collectorProcess({
      node,
      directory: join(directory, node),
      env: { ...env, SLUICE_CLUSTER_NODE: node },
    }),
  );
  await Promise.all(collectors.map((collector) => collector.start()));
  /** Resolves with the owner and the followers when all of them are ready. */
  const whole = async () => {
    for (;;) {
      try {
        const { partitions, members } = await callApi(urlOf(collectors[0]), "/cluster");
        const ready = members.filter(
          ({ isAlive, isReady, behindMs }) => isAlive && isReady && behindMs < 1_000,
        );
        const owner = collectors.find(({ node }) => node === partitions[0]?.owner);
        if (ready.length === NAMES.length && partitions[0]?.phase === "leading" && owner !== undefined)
          return { owner, followers: collectors.filter((one) => one !== owner) };
      } catch {
        // There is no owner just now.
      }
      await pause(100);
    }
  };
  return {
    ...(await whole()),
    servers: nats.nodes,
    whole,
    async close() {
      await Promise.all(collectors.map((collector) => collector.stop()));
      await nats.close();
    },
  };
}
