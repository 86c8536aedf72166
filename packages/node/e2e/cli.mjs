/**
 * Runs the built SDK from a JSON description, as end-to-end suites for SDKs of this kind expect:
 *
 *   node packages/node/e2e/cli.mjs --input '{"writeKey":"k","apiHost":"http://127.0.0.1:8787","sequences":[{"delayMs":0,"events":[{"type":"track","event":"E","userId":"u"}]}]}'
 *
 * config: flushAt (messages), flushInterval (ms), maxRetries, timeout (s, of one request). The last line on stdout is
 * {"success", "sentBatches", "error"?}; success is false when anything was dropped. Exit code 0 or 1. All else goes to stderr.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Analytics } from "@sluice/node";

const KINDS = ["identify", "track", "page", "screen", "group", "alias"];

/** How long to wait for queued messages after the last event. */
const CLOSE_TIMEOUT_MS = 10 * 60_000;

async function run(input) {
  const { flushAt, flushInterval, maxRetries, timeout } = input.config ?? {};
  const errors = [];
  let sentBatches = 0;
  const analytics = new Analytics({
    writeKey: input.writeKey,
    host: input.apiHost,
    flushAt,
    flushAfter: flushInterval,
    maxRetries,
    requestTimeoutMs: timeout === undefined ? undefined : Math.round(timeout * 1_000),
    onError: (status, message, { code }) => {
      errors.push(`${code} (${status}): ${message}`);
      console.error(`dropped: ${errors.at(-1)}`);
    },
  });
  analytics.on("request", ({ status, messages, attempt }) => {
    console.error(`request: attempt ${attempt}, ${messages} messages, status ${status}`);
    if (status >= 200 && status < 300) sentBatches += 1;
  });

  for (const { delayMs = 0, events = [] } of input.sequences ?? []) {
    if (delayMs > 0) await sleep(delayMs);
    for (const { type, ...fields } of events) {
      if (KINDS.includes(type)) analytics[type](fields);
      else errors.push(`No such call: ${type}`);
    }
  }
  await analytics.close({ timeoutMs: CLOSE_TIMEOUT_MS });
  const { failed, refused } = analytics.stats();
  return {
    success: errors.length === 0 && failed === 0 && refused === 0,
    sentBatches,
    ...(errors.length > 0 && { error: errors.join("; ") }),
  };
}

let result;
try {
  const { values } = parseArgs({ options: { input: { type: "string" } } });
  result = await run(JSON.parse(values.input ?? ""));
} catch (error) {
  result = { success: false, sentBatches: 0, error: error instanceof Error ? error.message : String(error) };
}
console.log(JSON.stringify(result));
process.exitCode = result.success ? 0 : 1;
