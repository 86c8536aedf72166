/**
 * The cases that have a budget. `open` starts what a case needs and returns `floor` and `ours`, which run the same work once and
 * resolve with CPU microseconds per message, and `close`.
 */
import { askWhenIdle } from "../collector/cpu-time.mjs";
import { forked } from "../collector/forked.mjs";
import { runLoad } from "../collector/run-load.mjs";
import { forkServer } from "../sdk/fork-server.mjs";
import { runScript } from "../sdk/run-script.mjs";

/** Only ends a load that a busy machine makes slow; the number of requests ends it otherwise. */
const LONGEST_LOAD_SECONDS = 20;
// The same option as `sluice collector` uses.
const FLAGS = ["--max-semi-space-size=32"];
const inCollectorFolder = (name) => new URL(`../collector/${name}`, import.meta.url);

/** CPU per message of a server, until it is idle: what it does after its answers counts too. */
async function serverCpu(server, shape, untilReceived) {
  await askWhenIdle(server);
  server.tell({ mark: true });
  const { sent } = await runLoad({ ...shape, ...(await server.ready), seconds: LONGEST_LOAD_SECONDS });
  const messages = sent * shape.events;
  await untilReceived?.(messages);
  return ((await askWhenIdle(server)).cpuSeconds * 1e6) / messages;
}

async function openIngestion(shape) {
  const floor = forked(inCollectorFolder("ingest-floor.mjs"), [], FLAGS);
  const ours = forked(inCollectorFolder("ingest-collector.mjs"), [], FLAGS);
  for (const server of [floor, ours]) await serverCpu(server, shape);
  return {
    floor: () => serverCpu(floor, shape),
    ours: () => serverCpu(ours, shape),
    close: () => Promise.all([floor.end(), ours.end()]),
  };
}

async function openEndToEnd(shape) {
  const receiver = forked(inCollectorFolder("delivery-receiver.mjs"));
  const { ports } = await receiver.ask({ listen: 2 });
  const sides = await Promise.all(
    ["end-to-end-floor.mjs", "delivery-collector.mjs"].map(async (file, index) => {
      const server = forked(inCollectorFolder(file), [], FLAGS);
      await server.ready;
      const port = ports[index];
      await server.ask({
        destinations: [`http://127.0.0.1:${port}/hook`],
        settings: { concurrency: 50 },
      });
      let received = 0;
      const untilReceived = (messages) => {
        received += messages;
        return receiver.ask({ port, until: received });
      };
      return { end: server.end, run: () => serverCpu(server, shape, untilReceived) };
    }),
  );
  const [floor, ours] = sides;
  for (const side of sides) await side.run();
  return {
    floor: floor.run,
    ours: ours.run,
    close: () => Promise.all([floor.end(), ours.end(), receiver.end()]),
  };
}

async function sdkCpu(client, manner, count) {
  const server = await forkServer();
  const run = await runScript("one-run.mjs", [client, manner, count, server.url], { flags: ["--expose-gc"] });
  const { messages } = await server.totals();
  server.close();
  if (messages - run.warmUp !== count) throw new Error(`${messages - run.warmUp} of ${count} arrived`);
  return run.cpuMicros;
}

const openSdk = async (manner, count) => ({
  floor: () => sdkCpu("clients/floor", manner, count),
  ours: () => sdkCpu("clients/sluice", manner, count),
  close: async () => {},
});

export const CASES = {
  // One connection, so that each request is a commit of its own however fast the machine is.
  "ingestion, batches of 500": () => openIngestion({ events: 500, connections: 1, requests: 100 }),
  "ingestion, single messages": () => openIngestion({ events: 1, connections: 64, requests: 10_000 }),
  "end-to-end delivery": () =>
    openEndToEnd({ events: 100, connections: 8, requests: 80, requestsPerSecond: 80, isStamped: true }),
  "SDK, stream": () => openSdk("stream", 60_000),
  "SDK, paced": () => openSdk("paced", 5_000),
};
