// Prints orders to try the backfill with, one per line: node src/make-orders.mjs 1000000 > orders.jsonl
import { once } from "node:events";

const count = Number(process.argv[2] ?? 1_000);
const DAY_MS = 86_400_000;
const firstMs = Date.UTC(2026, 0, 1);

for (let order = 1; order <= count; order++) {
  const row = {
    id: order,
    customer: `c${order % 5_000}`,
    at: new Date(firstMs + ((order * 1_000) % (365 * DAY_MS))).toISOString(),
    total: (order % 10_000) / 100,
    items: ["Monopoly: 3rd Edition", "Chess"],
  };
  if (!process.stdout.write(`${JSON.stringify(row)}\n`)) await once(process.stdout, "drain");
}
