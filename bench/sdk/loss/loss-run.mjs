/**
 * Sends 1,000 numbered messages with one client: `node loss-run.mjs CLIENT URL endsByItself`. Prints how each loss was reported
 * (the numbers, once per report), which messages were never accepted, and how long close() took.
 */
const [client, url, endsByItself] = process.argv.slice(2);
const { open } = await import(`../${client}.mjs`);

const reported = [];
let unhandled = 0;
process.on("unhandledRejection", () => {
  unhandled += 1;
});
const report = (extra = {}) => process.send?.({ reported, unhandled, ...extra });
process.on("exit", () => report());

const analytics = open(url, (number) => reported.push(number));
for (let number = 0; number < 1_000; number++) {
  analytics.track({ userId: "u", event: "E", properties: { number } }, number);
}
if (endsByItself === "true") {
  process.channel?.unref();
} else {
  const before = Date.now();
  await analytics.close();
  report({ closeMs: Date.now() - before });
  process.disconnect();
}
