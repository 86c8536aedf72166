import { Agent, request } from "undici";
import { urlOf } from "./bench-cluster.mjs";

const CONNECTIONS = 4;
/** Between two messages of a client. */
const EVERY_MS = 5;
const PAUSE_MS = 1_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Ends the owner while clients of the followers send single messages. Resolves with the longest time without a 200 from then on, in
 * milliseconds.
 */
export async function takeoverMs({ owner, followers, signal, writeKey }) {
  const agent = new Agent();
  const headers = { authorization: `Basic ${btoa(`${writeKey}:`)}`, "content-type": "application/json" };
  let isOver = false;
  let lastMs = performance.now();
  let longestMs = 0;
  async function client({ port }) {
    while (!isOver) {
      const body = JSON.stringify({ userId: "u1", event: "Probed" });
      const options = { method: "POST", dispatcher: agent, headers, body };
      const answer = await request(`${urlOf({ port })}/v1/track`, options).catch(() => undefined);
      await answer?.body.dump();
      if (answer?.statusCode === 200) {
        const now = performance.now();
        longestMs = Math.max(longestMs, now - lastMs);
        lastMs = now;
      }
      await pause(EVERY_MS);
    }
  }
  const clients = Array.from({ length: CONNECTIONS }, (_, index) =>
    client(followers[index % followers.length]),
  );
  await pause(PAUSE_MS);
  longestMs = 0;
  const endedMs = performance.now();
  process.kill(owner.pid, signal);
  await owner.ended();
  // An answer that comes after the end of the process is the next owner's.
  const lastEndedMs = performance.now();
  while (lastMs < lastEndedMs || performance.now() - endedMs < PAUSE_MS) await pause(EVERY_MS);
  isOver = true;
  await Promise.all(clients);
  await agent.close();
  return longestMs;
}
