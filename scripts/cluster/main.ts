/**
 * `npm run cluster`: three NATS servers and three collectors on this machine, behind one address. It prints what `npm start` prints.
 * Data stays in `.sluice/cluster`, so that the next start continues. To see a takeover, kill one of the processes that it lists: it is
 * started again after some seconds.
 *
 *   npm run cluster -- [--port 8787] [--data-dir .sluice/cluster] [--json] [--help]
 *
 * `--json` prints one line when it is ready, as `sluice dev --json` does, with the processes.
 */
import { join } from "node:path";
import { styleFor } from "../../packages/cli/src/terminal/style.ts";
import { startNatsCluster } from "../../test/nats/nats-cluster.ts";
import { findNatsServer } from "../../test/nats/nats-server.ts";
import { startBalancer } from "./balancer.ts";
import { clusterWelcome } from "./cluster-welcome.ts";
import { type CollectorProcess, collectorProcess } from "./collector-process.ts";
import { firstSource, isServing } from "./first-source.ts";
import { assertUnused, lockFolder } from "./folder-lock.ts";
import { keptSecrets } from "./kept-secrets.ts";
import { makeFolder } from "./make-folder.ts";
import { readOptions, USAGE } from "./read-options.ts";

const read = readOptions(process.argv.slice(2));
if (read.kind === "help") {
  process.stdout.write(USAGE);
  process.exit(0);
}
if (read.kind === "wrong") exitWith(`error: ${read.reason}. npm run cluster -- --help shows the options`, 2);
const { options } = read;
const { directory } = options;
const RESTART_AFTER_MS = 5_000;
const NAMES = ["a", "b", "c"];
/** For people. */
const say = (text: string): void => void (options.json ? process.stderr : process.stdout).write(text);
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

const server = findNatsServer();
if (server.kind === "missing") exitWith(`A cluster ${server.reason}`);
// Whatever can be refused is refused before anything is written.
orExit(() => assertUnused(directory));
const collectors: CollectorProcess[] = [];
const balancer = await startBalancer(options.port, () => collectors.map(({ port }) => port)).catch(
  (error: NodeJS.ErrnoException) =>
    exitWith(`Port ${options.port} cannot be used: ${error.code}. Choose another one with --port`),
);
for (const folder of [directory, join(directory, "nats")]) orExit(() => makeFolder(folder), 2);
const lock = orExit(() => lockFolder(directory));
const secrets = orExit(() => keptSecrets(directory));
const url = `http://127.0.0.1:${balancer.port}`;
const nats = await startNatsCluster({ directory: join(directory, "nats"), maxStore: "8GB" });
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
      },
    }),
  );
let isStopping = false;

function exitWith(reason: string, code = 1): never {
  process.stderr.write(`${reason}\n`);
  process.exit(code);
}

function orExit<T>(make: () => T, code = 1): T {
  try {
    return make();
  } catch (error) {
    exitWith((error as Error).message, code);
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
  of: Pick<CollectorProcess, "ended" | "start" | "pid">,
): Promise<void> {
  for (;;) {
    const how = await of.ended();
    if (isStopping) return;
    say(`  ${what} ended (${how}). It starts again in ${RESTART_AFTER_MS / 1_000} s.\n`);
    await pause(RESTART_AFTER_MS);
    if (isStopping) return;
    await of.start().catch((error: Error) => {
      // What is just starting is stopped too.
      if (!isStopping) throw error;
    });
    if (isStopping) return;
    noteServers();
    say(`  ${what} runs again, as process ${of.pid}.\n`);
  }
}

try {
  await Promise.all(collectors.map((collector) => collector.start()));
  while (!(await isServing(url, secrets.adminToken))) await pause(200);
  const source = await firstSource(url, secrets.adminToken);
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
  if (options.json) process.stdout.write(`${JSON.stringify({ ...ready, processes })}\n`);
  else say(clusterWelcome(ready, directory, processes, style));
} catch (error) {
  // Stopping ends what has not started yet.
  if (!isStopping) process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  await stop(1);
}
for (const collector of collectors) void keepRunning(`collector ${collector.node}`, collector);
for (const node of nats.nodes) void keepRunning(`nats-server ${node.name}`, node);
