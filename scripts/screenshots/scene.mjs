import { manualClock, startTestCollector } from "../../apps/collector/dist/testing.js";
import { eventAt, seededRandom } from "./events.mjs";

/** The time at which the scene ends. */
const NOW = Date.parse("2026-03-12T14:30:00.000Z");
const MINUTE = 60_000;
const TRADED_MINUTES = 150;
const MESSAGES_A_MINUTE = 90;

/** Host, response time in milliseconds. */
const DESTINATIONS = {
  Warehouse: ["https://ingest.warehouse.example/sluice", 40],
  "Customer emails": ["https://mail.acme.example/hooks/events", 110],
  Billing: ["https://billing.acme.example/events", 65],
  "CRM sync": ["https://crm.acme.example/webhooks/sluice", 85],
};

/**
 * A shop that traded for hours: a collector in this process, with its own clock and scripted webhooks. Nothing depends on the
 * machine's clock or on chance, so that a second run gives nearly the same pictures.
 */
export async function openShop() {
  const random = seededRandom(7);
  const clock = manualClock({ startMs: NOW - TRADED_MINUTES * MINUTE });
  const collector = await startTestCollector({ clock });
  await collector.api("PATCH", `/sources/${collector.sourceId}`, { name: "Web shop" });
  const ids = {};
  for (const [name, [url]] of Object.entries(DESTINATIONS)) {
    ids[name] = await collector.connect({ webhooks: [{ url }] });
    await collector.api("PATCH", `/destinations/${ids[name]}`, { name });
  }

  const answer = (name, status = 200, body = "ok") => {
    const [url, latencyMs] = DESTINATIONS[name];
    collector.webhooks.script(url, () => ({ status, body, latencyMs: latencyMs * (0.7 + random() * 0.8) }));
  };
  for (const name of Object.keys(DESTINATIONS)) answer(name);

  let sent = 0;
  /** Sends messages for some minutes, one batch every five seconds. */
  const trade = async (minutes) => {
    for (let step = 0; step < minutes * 12; step++) {
      const wave = 1 + 0.35 * Math.sin(clock.now() / (17 * MINUTE));
      const number = Math.max(1, Math.round((MESSAGES_A_MINUTE / 12) * wave * (0.6 + 0.8 * random())));
      await collector.send(...Array.from({ length: number }, () => eventAt(sent++, random, clock.now())));
      await collector.advance(MINUTE / 12);
    }
  };
  return { collector, clock, ids, answer, trade, minutes: TRADED_MINUTES, close: () => collector.close() };
}
