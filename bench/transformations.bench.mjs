/**
 * What a transformation costs: CPU time of the process, both threads together, for a message of 690 bytes, in batches of 100 and alone.
 *
 *   node bench/transformations.bench.mjs [MESSAGES]    default: 4000 a measurement; the best of three counts
 */
import { openSandboxes } from "@sluice/transformations";
import { reportFigures } from "./figures.mjs";

const MESSAGES = Number(process.argv[2] ?? 4_000);
const BATCH = 100;

const CODES = {
  "returns what it got": "export default (m) => m",
  "changes two fields": "export default (m) => { m.event = 'Bought'; m.properties.total *= 2; return m }",
  "hashes a field": "export default (m, { sha256 }) => { m.userId = sha256(m.userId); return m }",
  "is asynchronous": "export default async (m) => m",
};

const messageOf = (n) => ({
  ...{
    type: "track",
    event: "Order Completed",
    userId: `user-${n}`,
    messageId: `node-${n}-9f8a7c6b5d4e3f2a1b0c`,
  },
  anonymousId: `3f0c2f0e-7a1b-4f6c-8a1d-${String(n).padStart(12, "0")}`,
  timestamp: "2026-05-17T09:30:00.123Z",
  receivedAt: "2026-05-17T09:30:01.000Z",
  context: {
    library: { name: "@sluice/node", version: "0.1.0" },
    ip: "203.0.113.9",
    userAgent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
    locale: "en-GB",
    page: {
      url: "https://shop.example/checkout/done",
      path: "/checkout/done",
      referrer: "https://shop.example/cart",
    },
  },
  properties: {
    ...{ orderId: `o-${n}`, total: 99.5 + n, currency: "EUR", coupon: "SPRING" },
    products: [
      { sku: "A-1", price: 12.5, quantity: 2 },
      { sku: "B-7", price: 74.5, quantity: 1 },
    ],
  },
});
const items = Array.from({ length: BATCH }, (_, n) => ({
  messageId: `m${n}`,
  timeMs: 1_780_000_000_000,
  json: JSON.stringify(messageOf(n)),
}));

const sandboxes = openSandboxes({ deadlineMs: 10_000 });

/** CPU time of a message, in microseconds. */
async function measure(code, together) {
  const run = async (messages) => {
    for (let done = 0; done < messages; done += together) {
      const at = done % BATCH;
      await sandboxes.run(code, items.slice(at, at + together));
    }
  };
  await run(MESSAGES / 2);
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round++) {
    const before = process.cpuUsage();
    await run(MESSAGES);
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / MESSAGES);
  }
  return best;
}

for (const [name, code] of Object.entries(CODES)) {
  const version = { key: name, code, language: "javascript", secrets: {} };
  const together = await measure(version, BATCH);
  const alone = await measure(version, 1);
  reportFigures([
    { name: `${name}, in batches of ${BATCH}`, unit: "µs", ours: together },
    { name: `${name}, one by one`, unit: "µs", ours: alone },
  ]);
  console.log(`${name.padEnd(20)} ${together.toFixed(1)} µs in batches, ${alone.toFixed(1)} µs one by one`);
}
await sandboxes.close();
