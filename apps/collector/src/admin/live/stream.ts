import { endpoint } from "../endpoint/endpoint.js";
import { untilRevoked } from "../endpoint/until-revoked.js";
import { readFilter } from "../messages/filter-query.js";
import { readLive } from "./live-reader.js";
import { readPosition } from "./server-sent-event.js";

export const streamLive = endpoint("GET /live", ({ query, request, token }, context) => {
  const { store, recent, live, clock, tokens, planOf, streams } = context;
  const filter = readFilter(query.q);
  const lastEventId = request.headers["last-event-id"];
  const resumeFrom = readPosition(typeof lastEventId === "string" ? lastEventId : undefined);
  request.signal.addEventListener("abort", streams.open(token.id), { once: true });
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" },
    async stream(write, requestSignal, requestDrained) {
      const { signal, stop } = untilRevoked(requestSignal, tokens, token);
      const drained = () => orAborted(requestDrained(), signal);
      try {
        await readLive({
          ...{ store, recent, live, planOf, clock, filter, token, resumeFrom },
          ...{ write, drained, signal },
        });
      } finally {
        stop();
      }
    },
  };
});

/** Resolves when `promise` does or `signal` aborts. Leaves no listener behind. */
async function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done, { once: true });
    promise.then(done, done);
  });
}
