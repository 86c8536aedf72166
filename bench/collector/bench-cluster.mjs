/** Built collectors for `scale-out.bench.mjs`: one on its own, or several on three NATS servers that sync every write. */
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
export async function callApi(url, path, body, method = body === undefined ? "GET" : "POST") {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
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

/** Three NATS servers, and collectors that are not started. */
async function prepareCluster(directory, names) {
  mkdirSync(join(directory, "nats"), { recursive: true });
  const nats = await startNatsCluster({ directory: join(directory, "nats"), maxStore: "8GB" });
  const env = {
    ...ENVIRONMENT,
    SLUICE_CLUSTER_SERVERS: nats.urls.join(","),
    SLUICE_CLUSTER_MONITORS: nats.monitors.join(","),
  };
  const collectors = names.map((node) =>
    collectorProcess({
      node,
      directory: join(directory, node),
      env: { ...env, SLUICE_CLUSTER_NODE: node },
    }),
  );
  return {
    collectors,
    servers: nats.nodes,
    /** Resolves with the cluster when `find` returns something for it. */
    async until(find) {
      for (;;) {
        try {
          const view = await callApi(urlOf(collectors[0]), "/cluster");
          const found = find(view);
          if (found !== undefined) return found;
        } catch {
          // There is no owner just now.
        }
        await pause(100);
      }
    },
    async close() {
      await Promise.all(collectors.map((collector) => collector.stop()));
      await nats.close();
    },
  };
}

const readyMembers = ({ members }) =>
  members.filter(({ isAlive, isReady, behindMs }) => isAlive && isReady && behindMs < 1_000);

/** Three collectors on three NATS servers. */
export async function startCluster(directory) {
  const { collectors, servers, until, close } = await prepareCluster(directory, NAMES);
  await Promise.all(collectors.map((collector) => collector.start()));
  /** Resolves with the owner and the followers when all of them are ready. */
  const whole = () =>
    until((view) => {
      const owner = collectors.find(({ node }) => node === view.owner?.node);
      if (readyMembers(view).length === NAMES.length && view.owner?.phase === "leading")
        return { owner, followers: collectors.filter((one) => one !== owner) };
    });
  return { ...(await whole()), servers, whole, close };
}
