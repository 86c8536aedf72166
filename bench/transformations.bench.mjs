/**
 * What a transformation costs beside none: CPU time of the process, both threads together, for a message of 690 bytes, in batches of 100
 * and alone. Without a transformation, none of what is measured here runs. The codes take turns; the median of the rounds counts.
 *
 *   node bench/transformations.bench.mjs [MESSAGES] [ROUNDS]    default: 2000 a measurement, 7 rounds
 */
import { openSandboxes } from "@sluice/transformations";
import { median, reportFigures } from "./figures.mjs";

const MESSAGES = Number(process.argv[2] ?? 2_000);
const ROUNDS = Number(process.argv[3] ?? 7);
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
const messages = Array.from({ length: BATCH }, (_, n) => messageOf(n));
/** What the collector makes of a message for the sandbox. */
const itemOf = (message) => ({
  fixed: { messageId: message.messageId, type: message.type, receivedAt: message.receivedAt },
  timeMs: 1_780_000_000_000,
  json: JSON.stringify(message),
});

const sandboxes = openSandboxes({ deadlineMs: 10_000 });

/** CPU time of a message, in microseconds. */
async function measure(code, together) {
  const before = process.cpuUsage();
  for (let done = 0; done < MESSAGES; done += together) {
    const at = done % BATCH;
    await sandboxes.run(code, messages.slice(at, at + together).map(itemOf));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / MESSAGES;
}

const measured = Object.entries(CODES).flatMap(([name, code]) =>
  [
    [`in batches of ${BATCH}`, BATCH],
    ["one by one", 1],
  ].map(([how, together]) => ({
    name: `${name}, ${how}`,
    version: { key: name, code, language: "javascript", secrets: {} },
    together,
    found: [],
  })),
);
for (let round = -1; round < ROUNDS; round++)
  for (const { version, together, found } of measured) {
    const cost = await measure(version, together);
    // The first round only warms up.
    if (round >= 0) found.push(cost);
  }
reportFigures(measured.map(({ name, found }) => ({ name, unit: "µs", ours: median(found) })));
for (const { name, found } of measured) {
  const [middle, least, most] = [median(found), Math.min(...found), Math.max(...found)];
  console.log(`${name.padEnd(42)} ${middle.toFixed(1)} µs (${least.toFixed(1)} to ${most.toFixed(1)})`);
}
await sandboxes.close();
