// What the packages of destinations cost beside the client alone, with the same batches of 10,000 messages: messages a second, and CPU a
// message of this process. The floors write the same rows or records to the same server; they get them in JSON already, and only send.
// The floor of S3 is compression: what stands beside it is the work of the package and of HTTP.
//
//   node --expose-gc --import ./scripts/source-loader.mjs bench/collector/destinations.bench.mjs [rounds] [types]
import { median, reportFigures, reportSkipped } from "../figures.mjs";
import { DESTINATIONS } from "./destination-floors.mjs";

const ROUNDS = Number(process.argv[2] ?? 8);
const types = process.argv[3]?.split(",") ?? Object.keys(DESTINATIONS);
const MESSAGES = 10_000;
let made = 0;

/** Messages of about 600 bytes, each time others. */
function batch() {
  return Array.from({ length: MESSAGES }, () => {
    const id = `m-${made++}-0123456789abcdef`;
    const timestamp = "2026-01-02T03:04:05.678Z";
    const payload = {
      version: 1,
      type: "track",
      userId: `user-${made % 1_000}`,
      event: "Order Completed",
      properties: { total: 19.99, order: made, plan: "pro", items: ["a", "b", "c"], note: "x".repeat(200) },
      timestamp,
      messageId: id,
      anonymousId: `a-${made % 1_000}`,
      context: { library: { name: "@sluice/node", version: "0.1.0" }, ip: "192.0.2.1", locale: "en-GB" },
    };
    return { id, sourceId: "src_1", timestamp, position: made, receivedAtMs: Date.parse(timestamp), payload };
  });
}

async function measured(run) {
  globalThis.gc?.();
  const cpu = process.cpuUsage();
  const began = performance.now();
  await run();
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - began, cpuUs: (user + system) / MESSAGES };
}

async function deliver(open, messages) {
  const attempt = { number: 1, isLast: false, signal: new AbortController().signal };
  const range = { from: messages[0].position, to: messages.at(-1).position };
  const result = await open.deliverBatch({ range, id: `${range.from}-${range.to}`, messages }, attempt);
  if (result.kind !== "delivered" || (result.others ?? []).length > 0)
    throw new Error(JSON.stringify({ ...result, others: result.others?.slice(0, 3) }));
}

/** By turns, so that a busy machine disturbs both alike. The first round is left out. */
async function byTurns(ours, floor) {
  const rounds = [];
  for (let round = 0; round <= ROUNDS; round++)
    rounds.push(
      round % 2 === 0
        ? { ours: await ours(), floor: await floor() }
        : { floor: await floor(), ours: await ours() },
    );
  const counted = rounds.slice(1);
  const of = (side, what) => median(counted.map((one) => one[side][what]));
  return { of, ratio: median(counted.map((one) => one.floor.ms / one.ours.ms)) };
}

async function measure({ name, start, floorName = "the client alone" }) {
  await using pair = await start();
  const { of, ratio } = await byTurns(
    () => {
      const messages = batch();
      return measured(() => deliver(pair.open, messages));
    },
    () => {
      const given = pair.prepare(batch());
      return measured(() => pair.send(given));
    },
  );
  const rate = (side) => (MESSAGES / of(side, "ms")) * 1_000;
  const cpu = { ours: of("ours", "cpuUs"), peer: of("floor", "cpuUs") };
  const title = `into ${name}`;
  const rates = { ours: rate("ours"), peer: rate("floor"), peerName: floorName };
  reportFigures([
    { name: title, unit: "messages/s", ...rates },
    { name: title, unit: "µs CPU/message", ...cpu, peerName: floorName },
    { name: `${title}, beside it`, unit: "µs CPU/message", ours: cpu.ours - cpu.peer },
  ]);
  console.log(
    `${name}: ${Math.round(rates.ours)} messages/s, ${floorName} ${Math.round(rates.peer)}: ${ratio.toFixed(2)}; ` +
      `CPU ${cpu.ours.toFixed(2)} µs a message, ${floorName} ${cpu.peer.toFixed(2)} µs: ${(cpu.ours - cpu.peer).toFixed(2)} µs beside it`,
  );
}

const installed = types.map((type) => DESTINATIONS[type]).filter(({ isInstalled }) => isInstalled);
for (const destination of installed) await measure(destination);
if (installed.length === 0) reportSkipped("no server of a destination is installed");
