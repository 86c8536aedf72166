/**
 * `npm run cluster`: three NATS servers and three collectors on this machine, behind one address. It prints what `npm start` prints.
 * Data stays in `.sluice/cluster`, so that the next start continues. To see a takeover, kill one of the processes that it lists: it is
 * started again after some seconds.
 *
 *   npm run cluster -- [--port 8787] [--data-dir .sluice/cluster] [--partitions 1] [--json]
 *
 * With `--partitions 4`, the collectors share four partitions, and the first source is spread over them. The number is fixed when the data
 * folder is made.
 *
 * `--json` prints one line when it is ready, as `sluice dev --json` does, with the processes.
 */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { styleFor } from "../../packages/cli/src/terminal/style.ts";
import { startNatsCluster } from "../../test/nats/nats-cluster.ts";
import { findNatsServer } from "../../test/nats/nats-server.ts";
import { startBalancer } from "./balancer.ts";
import { clusterWelcome } from "./cluster-welcome.ts";
import { type CollectorProcess, collectorProcess } from "./collector-process.ts";
import { firstSource, isServing } from "./first-source.ts";
import { lockFolder } from "./folder-lock.ts";
import { keptPartitions } from "./kept-partitions.ts";
import { keptSecrets } from "./kept-secrets.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "8787" },
    "data-dir": { type: "string", default: ".sluice/cluster" },
    partitions: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const RESTART_AFTER_MS = 5_000;
const NAMES = ["a", "b", "c"];
const directory = resolve(values["data-dir"]);
/** For people. */
const say = (text: string): void => void (values.json ? process.stderr : process.stdout).write(text);
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

const server = findNatsServer();
if (server.kind === "missing") exitWith(`A cluster ${server.reason}`);
mkdirSync(join(directory, "nats"), { recursive: true, mode: 0o700 });
const lock = orExit(() => lockFolder(directory));
const partitions = orExit(() =>
  keptPartitions(directory, values.partitions ?? process.env.SLUICE_CLUSTER_PARTITIONS),
);
const secrets = keptSecrets(directory);
const collectors: CollectorProcess[] = [];
const balancer = await startBalancer(Number(values.port), () => collectors.map(({ port }) => port)).catch(
  (error: NodeJS.ErrnoException) =>
    exitWith(`Port ${values.port} cannot be used: ${error.code}. Choose another one with --port`),
);
const url = `http://127.0.0.1:${balancer.port}`;
const nats = await startNatsCluster({ directory: join(directory, "nats"), maxStore: `${8 * partitions}GB` });
const noteServers = (): void => lock.note(nats.nodes.map(({ pid }) => pid));
noteServers();
for (const node of NAMES)
  collectors.push(
    collectorProcess({
      node,
      directory: join(directory, node),
      env: {
        SLUICE_PUBLIC_URL: url,
        SLUICE_ADMIN_TOKEN: secrets.adminToken,
        SLUICE_SECRET_KEY: secrets.secretKey,
        // As with `npm start`: webhooks may go to this machine.
        SLUICE_ALLOW_TARGETS: "127.0.0.0/8,::1",
        SLUICE_CLUSTER_SERVERS: nats.urls.join(","),
        SLUICE_CLUSTER_MONITORS: nats.monitors.join(","),
        SLUICE_CLUSTER_NODE: node,
        SLUICE_CLUSTER_PARTITIONS: String(partitions),
      },
    }),
  );
let isStopping = false;

function exitWith(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

function orExit<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    exitWith((error as Error).message);
  }
}

async function stop(exitCode: number): Promise<never> {
  if (isStopping) return new Promise(() => {});
  isStopping = true;
  await balancer.close();
  await Promise.all(collectors.map((collector) => collector.stop()));
  await Promise.all(nats.nodes.map((node) => node.stop()));
  lock.release();
  process.exit(exitCode);
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.once(signal, () => {
    say("\nClosing. All accepted messages are stored.\n");
    void stop(0);
  });
// If only npm gets a signal, as from some supervisors, it ends without passing the signal on.
const npm = process.ppid;
setInterval(() => {
  if (process.ppid !== npm) void stop(0);
}, 500).unref();

/** Starts a process again when somebody has killed it. */
async function keepRunning(
  what: string,
  ended: () => Promise<string>,
  start: () => Promise<void>,
): Promise<void> {
  for (;;) {
    const how = await ended();
    if (isStopping) return;
    say(`  ${what} ended (${how}). It starts again in ${RESTART_AFTER_MS / 1_000} s.\n`);
    await pause(RESTART_AFTER_MS);
    if (isStopping) return;
    await start().catch((error: Error) => {
      // What is just starting is stopped too.
      if (!isStopping) throw error;
    });
    if (isStopping) return;
    noteServers();
    say(`  ${what} runs again.\n`);
  }
}

try {
  await Promise.all(collectors.map((collector) => collector.start()));
  while (!(await isServing(url, secrets.adminToken))) await pause(200);
  const source = await firstSource(url, secrets.adminToken, partitions);
  const dashboardUrl = `${url}/#token=${encodeURIComponent(secrets.adminToken)}`;
  const style = styleFor(process.env, process.stdout.isTTY === true);
  const ready = { url, dashboardUrl, adminToken: secrets.adminToken, ...source };
  const processes = [
    ...collectors.map(({ node, port, pid }) => ({
      ...{ name: `collector ${node}`, address: `127.0.0.1:${port}`, pid },
    })),
    ...nats.nodes.map(({ name, url: of, pid }) => ({
      ...{ name: `nats-server ${name}`, address: of.replace("nats://", ""), pid },
    })),
  ];
  if (values.json) process.stdout.write(`${JSON.stringify({ ...ready, processes })}\n`);
  else say(clusterWelcome(ready, directory, { processes, partitions }, style));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  await stop(1);
}
for (const collector of collectors)
  void keepRunning(
    `collector ${collector.node}`,
    () => collector.ended(),
    () => collector.start(),
  );
for (const node of nats.nodes)
  void keepRunning(
    `nats-server ${node.name}`,
    () => node.ended(),
    () => node.start(),
  );
