import { existsSync } from "node:fs";
import { forkServer } from "./fork-server.mjs";
import { median, runScript } from "./run-script.mjs";

export const OWN = [
  "clients/none",
  "clients/floor",
  "clients/sluice",
  "clients/floor-gzip",
  "clients/sluice-gzip",
];
const PEERS = ["peers/segment", "peers/posthog", "peers/analytics-node", "peers/rudder"];

/** Two of the peers need 250 µs per message and more, so a round with the full count would take minutes. */
const SLOW = { "peers/analytics-node": 10_000, "peers/rudder": 10_000 };
const COUNTS = { stream: { ...SLOW, default: 100_000 }, paced: { default: 10_000 } };

export const peersAreInstalled = existsSync(new URL("peers/node_modules", import.meta.url));

export const ALL = peersAreInstalled ? [...OWN, ...PEERS] : OWN;

/** CPU microseconds per message: the median of rounds in which the clients take turns, minus the loop alone. */
export async function cpuTable(manner, rounds, clients = ALL) {
  const runs = new Map(clients.map((client) => [client, []]));
  for (let round = 0; round < rounds; round++) {
    for (const client of clients) {
      const count = COUNTS[manner][client] ?? COUNTS[manner].default;
      const server = await forkServer();
      const run = await runScript("one-run.mjs", [client, manner, count, server.url], {
        flags: ["--expose-gc"],
      });
      const totals = await server.totals();
      server.close();
      runs.get(client).push({
        ...run,
        arrived: totals.messages - run.warmUp,
        offered: count,
        bytes: totals.socketBytes / totals.messages,
      });
    }
  }
  const loop = median(runs.get("clients/none").map(({ cpuMicros }) => cpuMicros));
  return clients.slice(1).map((client) => {
    const of = runs.get(client);
    return {
      client,
      cpuMicros: median(of.map(({ cpuMicros }) => cpuMicros)) - loop,
      bytes: median(of.map(({ bytes }) => bytes)),
      arrived: Math.min(...of.map(({ arrived, offered }) => arrived / offered)),
    };
  });
}
