import type { MessageView, QueryOf } from "@sluice/control-api";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint/endpoint.js";
import { untilRevoked } from "../endpoint/until-revoked.js";
import { wakeSignal } from "../endpoint/wake-signal.js";
import { findMessage } from "./find-message.js";
import { judgeWait } from "./judge-wait.js";
import { maskedMessage } from "./message-view.js";

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 10 * 60_000;
/** A change wakes the wait. This is for a change that was announced before it could be read. */
const MAX_GAP_MS = 250;
/** Under load something happens all the time, and most of it is about other messages. */
const MIN_GAP_MS = 10;

export const waitForMessage = endpoint(
  "GET /wait",
  async ({ query, request, token }, { store, live, clock, tokens }) => {
    const { messageId, sourceId } = query;
    const timeoutMs = query.timeoutMs ?? readTimeout(query.timeout) ?? DEFAULT_TIMEOUT_MS;
    const deadlineMs = clock.monotonic() + Math.min(timeoutMs, MAX_TIMEOUT_MS);
    const changed = wakeSignal(clock);
    const { signal, isRevoked, stop } = untilRevoked(request.signal, tokens, token);
    const stops = [store.log.onAppend(changed.wake), live.subscribe(changed.wake), stop];
    try {
      for (;;) {
        const message = await findMessage(store, messageId, sourceId);
        if (isRevoked()) throw new CollectorError("unauthorized", "this token was revoked");
        const found = message && maskedMessage(token, message);
        if (found !== undefined && isReached(found, query)) return { status: 200, body: found };
        const leftMs = deadlineMs - clock.monotonic();
        if (leftMs <= 0 || signal.aborted) throw timedOut(query, found, timeoutMs);
        await changed.wait(Math.min(leftMs, MAX_GAP_MS), signal);
        await clock.sleep(Math.min(leftMs, MIN_GAP_MS), signal).catch(() => {});
      }
    } finally {
      for (const stop of stops) stop();
    }
  },
);

type WaitQuery = QueryOf<"GET /wait">;

/** Throws `wait_impossible` if the message can no longer reach the state. */
function isReached(found: MessageView, query: WaitQuery): boolean {
  const { messageId, destinationId, destinations = "any", state = "accepted" } = query;
  const verdict = judgeWait(found, state, { destinationId, destinations });
  if (verdict.kind === "impossible")
    throw new CollectorError("wait_impossible", `${messageId} will not be ${state}: ${verdict.why}`, {
      details: { now: found },
    });
  return verdict.kind === "reached";
}

function timedOut(
  { messageId, state = "accepted" }: WaitQuery,
  found: MessageView | undefined,
  timeoutMs: number,
): CollectorError {
  return new CollectorError(
    "wait_timed_out",
    found === undefined
      ? `no message with the id ${messageId} arrived within ${timeoutMs} ms`
      : `${messageId} is not ${state} after ${timeoutMs} ms`,
    { details: { now: found ?? null } },
  );
}

function readTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  return Number.parseInt(text, 10) * (/\ds$/.test(text) ? 1_000 : 1);
}
