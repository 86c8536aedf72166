/** Messages per second to a collector 200 ms away, with one and with eight concurrent requests, in a loop that waits for room. */
import { Analytics } from "@sluice/node";
import { forkServer } from "./fork-server.mjs";
import { trackCall } from "./message.mjs";

const COUNT = 20_000;
const results = {};
for (const maxInFlight of [1, 8]) {
  const count = maxInFlight === 1 ? COUNT / 10 : COUNT;
  const server = await forkServer({ SERVER_DELAY_MS: "200" });
  const analytics = new Analytics({ writeKey: "bench", host: server.url, maxInFlight });
  const before = performance.now();
  for (let i = 0; i < count; i++) {
    await analytics.ready();
    analytics.track(trackCall(i));
  }
  await analytics.close();
  const { delivered } = analytics.stats();
  if (delivered !== count) throw new Error(`${delivered} of ${count} were delivered`);
  results[maxInFlight] = count / ((performance.now() - before) / 1_000);
  server.close();
}
console.log(JSON.stringify(results));
