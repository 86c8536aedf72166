/**
 * Memory of a collector while messages keep coming and all its ten destinations are broken. The collector runs in its own process.
 *
 *   npm run build && node bench/collector/memory.bench.mjs [dead|hang|drip|fail] [messages a second, 0: as fast as possible] [seconds]
 */
import { reportFigures } from "../figures.mjs";
import { deliveryClient } from "./delivery-client.mjs";
import { forked } from "./forked.mjs";

const mode = process.argv[2] ?? "dead";
const perSecond = Number(process.argv[3] ?? 2_000);
const seconds = Number(process.argv[4] ?? 60);
const BATCH = 100;
const IN_FLIGHT = 8;
const here = (name) => new URL(name, import.meta.url);

const receiver = forked(here("delivery-receiver.mjs"));
// The same option as `sluice collector` uses.
const collector = forked(here("delivery-collector.mjs"), [], ["--max-semi-space-size=32"]);
const { url, writeKey } = await collector.ask({});
const { ports } = await receiver.ask({ listen: 10 });
for (const port of ports) receiver.tell({ port, mode });
await collector.ask({ destinations: ports.map((port) => `http://127.0.0.1:${port}/hook`) });
const client = deliveryClient(url, writeKey, IN_FLIGHT);
const idle = await collector.ask({ cpu: true });

const startedMs = performance.now();
const elapsedMs = () => performance.now() - startedMs;
let accepted = 0;
let refused = 0;
async function send() {
  for (let batch = 0; elapsedMs() < seconds * 1_000; batch++) {
    const status = await client.send(BATCH);
    if (status === 200) accepted += BATCH;
    else refused += BATCH;
    const waitMs = perSecond === 0 ? 0 : ((batch + 1) * BATCH * IN_FLIGHT * 1_000) / perSecond - elapsedMs();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}
const samples = [];
const sampling = setInterval(async () => samples.push((await collector.ask({ cpu: true })).rssBytes), 1_000);
await Promise.all(Array.from({ length: IN_FLIGHT }, send));
clearInterval(sampling);
await new Promise((resolve) => setTimeout(resolve, 1_000));
const { rssBytes, storeBytes } = await collector.ask({ cpu: true });
await client.close();
await collector.end();
await receiver.end();

const megabytes = (bytes) => Math.round(bytes / 2 ** 20);
const spot = (share) => megabytes(samples[Math.floor((samples.length - 1) * share)]);
console.log(
  `${mode}, ${Math.round(accepted / seconds)} messages/s taken (${refused} refused) for ${seconds} s: memory MB idle ${megabytes(idle.rssBytes)}, ` +
    `after a quarter ${spot(0.25)}, half ${spot(0.5)}, three quarters ${spot(0.75)}, at the end ${megabytes(rssBytes)}, most ${megabytes(Math.max(...samples))}; ` +
    `on disk ${Math.round((storeBytes - idle.storeBytes) / accepted)} bytes a message`,
);
reportFigures([
  { name: "memory when idle", unit: "MB", ours: idle.rssBytes / 2 ** 20 },
  {
    name: `most memory at ${perSecond} messages a second`,
    unit: "MB",
    ours: Math.max(...samples) / 2 ** 20,
  },
  {
    name: "disk a message for ten destinations",
    unit: "bytes",
    ours: (storeBytes - idle.storeBytes) / accepted,
  },
]);
