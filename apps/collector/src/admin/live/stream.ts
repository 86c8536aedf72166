import { Type } from "@sinclair/typebox";
import { endpoint } from "../endpoint.js";
import { readFilter } from "../messages/filter-query.js";
import { untilRevoked } from "../until-revoked.js";
import { readLive } from "./live-reader.js";
import { readPosition } from "./server-sent-event.js";

export const streamLive = endpoint({
  name: "live.stream",
  method: "GET",
  path: "/live",
  summary: "Every message and every outcome as it happens, as server-sent events",
  access: "read",
  query: Type.Object(
    {
      q: Type.Optional(
        Type.String({
          description: 'A filter: `type:track event:"Signed Up" user:42 outcome:failed some text`',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  answers: {
    status: 200,
    description:
      "Events `message`, `outcome`, `rejected`, and `dropped`: how many messages and outcomes this reader missed because it was too slow or away for too long (`isMinimum`: there are more than were counted). `Last-Event-ID` goes on where an earlier stream ended.",
    schema: Type.String(),
    contentType: "text/event-stream",
  },
  handle({ query, request, token }, { store, recent, live, clock, tokens }) {
    const filter = readFilter(query.q);
    const lastEventId = request.headers["last-event-id"];
    const resumeFrom = readPosition(typeof lastEventId === "string" ? lastEventId : undefined);
    return {
      status: 200,
      headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" },
      async stream(write, requestSignal, requestDrained) {
        const { signal, stop } = untilRevoked(requestSignal, tokens, token);
        const drained = () => orAborted(requestDrained(), signal);
        try {
          await readLive({ store, recent, live, clock, filter, token, resumeFrom, write, drained, signal });
        } finally {
          stop();
        }
      },
    };
  },
});

/** Resolves when `promise` does or `signal` aborts, and leaves nothing behind on either. */
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
