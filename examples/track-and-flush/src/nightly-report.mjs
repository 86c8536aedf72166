// A script that loses no event, whether it ends by itself, by `kill` or by Ctrl-C.
//
//   SLUICE_WRITE_KEY=… SLUICE_URL=http://127.0.0.1:8787 node src/nightly-report.mjs
import { Analytics } from "@sluice/node";

const {
  SLUICE_WRITE_KEY: writeKey,
  SLUICE_URL: host = "http://127.0.0.1:8787",
  REPORTS = "100",
  MS_PER_REPORT = "5",
} = process.env;
if (writeKey === undefined) {
  console.error("Set SLUICE_WRITE_KEY to the write key that `sluice dev` printed.");
  process.exit(2);
}

const analytics = new Analytics({
  writeKey,
  host,
  // On SIGTERM and SIGINT, the client sends what is queued before the signal ends the process.
  flushOnSignals: true,
  onError: (status, message) => console.error(`not delivered: ${status} ${message}`),
});

for (let report = 1; report <= Number(REPORTS); report++) {
  await new Promise((resolve) => setTimeout(resolve, Number(MS_PER_REPORT)));
  analytics.track({
    userId: "nightly-report",
    event: "Report Written",
    properties: { report },
  });
  console.log(report);
}

// Without this line, the last messages and the process would wait for the next flush.
await analytics.close();
const { delivered, failed, refused } = analytics.stats();
console.log(`delivered ${delivered}, failed ${failed}, refused ${refused}`);
