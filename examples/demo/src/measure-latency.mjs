import { Analytics } from "@sluice/node";

/** A steady load, well below what a collector takes, so that the latencies are those of single messages and not of a queue. */
export const RATE_PER_SECOND = 100;
export const SECONDS = 5;
const TIMEOUT_MS = 30_000;

/**
 * Sends messages at a steady rate and measures each from the call to the receipt of its webhook.
 * The client sends a message at once (`flushPolicy: "eager"`); by default it would collect messages for up to 5 s.
 * @returns {Promise<number[]>} latencies in milliseconds, ascending; fewer than were sent if some did not arrive in time
 */
export async function measureLatency({ url, writeKey, receiver, planned }) {
  const analytics = new Analytics({ writeKey, host: url, flushPolicy: "eager" });
  const ids = [];
  const startMs = performance.now();
  for (let count = 0; count < RATE_PER_SECOND * SECONDS; count++) {
    const dueMs = startMs + (count * 1_000) / RATE_PER_SECOND;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const { kind, call } = planned[count % planned.length];
    const messageId = crypto.randomUUID();
    receiver.expected.set(messageId, { kind, call, atMs: performance.now() });
    analytics[kind]({ ...call, messageId });
    ids.push(messageId);
  }
  await analytics.close({ timeoutMs: TIMEOUT_MS });
  const deadlineMs = performance.now() + TIMEOUT_MS;
  while (ids.some((id) => !receiver.received.has(id)) && performance.now() < deadlineMs)
    await new Promise((resolve) => setTimeout(resolve, 20));
  return ids
    .map((id) => receiver.received.get(id))
    .filter((latencyMs) => latencyMs !== undefined)
    .sort((a, b) => a - b);
}

/** The latency that this share of the messages did not exceed. */
export function percentile(latencies, share) {
  return latencies[Math.ceil(latencies.length * share) - 1] ?? Number.NaN;
}
