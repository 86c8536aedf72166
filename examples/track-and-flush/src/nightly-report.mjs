// A script that tells what it does, and loses none of it however it ends: by itself, by `kill`, by Ctrl-C.
//
//   SLUICE_WRITE_KEY=… SLUICE_URL=http://127.0.0.1:8787 node src/nightly-report.mjs
import { Analytics } from "@sluice/node";

const {
  SLUICE_WRITE_KEY: writeKey,
  SLUICE_URL: host = "http://127.0.0.1:8787",
  REPORTS = "100",
  MS_A_REPORT = "5",
} = process.env;
if (writeKey === undefined) {
  console.error("Set SLUICE_WRITE_KEY to the write key that `sluice dev` printed.");
  process.exit(2);
}

const analytics = new Analytics({
  writeKey,
  host,
  // SIGTERM and SIGINT: what is queued goes out first, then the signal ends the process.
  flushOnSignals: true,
  onError: (status, message) => console.error(`not delivered: ${status} ${message}`),
});

for (let report = 1; report <= Number(REPORTS); report++) {
  await new Promise((resolve) => setTimeout(resolve, Number(MS_A_REPORT)));
  analytics.track({
    userId: "nightly-report",
    event: "Report Written",
    properties: { report },
  });
  console.log(report);
}

// The end of a script: without this line the last messages would wait for the next flush, and the process with them.
await analytics.close();
const { delivered, failed, refused } = analytics.stats();
console.log(`delivered ${delivered}, failed ${failed}, refused ${refused}`);
