/**
 * A process that tracks numbered messages until it is told to stop, and reports what the SDK says, a line each:
 *
 *   t N           every message below N is about to be passed to the SDK, or was
 *   d ID…         delivered: the collector answered 200
 *   l CODE ID…    lost, as reported to onError
 *   s N           every message below N is delivered or on disk (with a spool)
 *   e STATS       closed
 */
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { Analytics } from "@sluice/node";

const { run, users, perSecond, ...options } = JSON.parse(process.argv[2]);
const EVERY_MS = 20;

/** Returns when the line is in the pipe, so that it is not lost when the process is killed. */
function say(line) {
  let rest = Buffer.from(`${line}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

const analytics = new Analytics({
  ...options,
  flushPolicy: "eager",
  quiet: true,
  onError: (_status, _message, { code, messages }) =>
    say(`l ${code} ${messages.map(({ messageId }) => messageId).join(" ")}`),
});
analytics.on("delivered", ({ messageIds }) => say(`d ${messageIds.join(" ")}`));

let next = 0;
const timer = setInterval(() => {
  const until = next + Math.max(1, Math.round((perSecond * EVERY_MS) / 1_000));
  say(`t ${until}`);
  for (; next < until; next++) {
    const userId = `${run}-u${next % users}`;
    analytics.track({ userId, event: "Ordered", messageId: `${run}-${next}`, properties: { n: next } });
  }
}, EVERY_MS);

if (options.spool !== undefined) void reportKept();
async function reportKept() {
  for (;;) {
    const below = next;
    const { failed } = await analytics.flush();
    if (failed === 0) say(`s ${below}`);
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

for await (const line of createInterface({ input: process.stdin })) if (line === "stop") break;
clearInterval(timer);
while ((analytics.stats().spooled ?? 0) > 0) await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
await analytics.close({ timeoutMs: 60_000 });
say(`e ${JSON.stringify(analytics.stats())}`);
process.exit(0);
