import { Type } from "@sinclair/typebox";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";
import { bell } from "../live/bell.js";
import { untilRevoked } from "../until-revoked.js";
import { findMessage, shownMessage } from "./get.js";
import { judgeWait, WAIT_STATES } from "./judge-wait.js";
import { RejectedMessageSchema, StoredMessageSchema } from "./message-schema.js";

const DEFAULT_TIMEOUT_MS = 30_000;
const LONGEST_TIMEOUT_MS = 10 * 60_000;
/** A change wakes the wait; this is for one that was told before it could be read. */
const LOOK_AGAIN_MS = 250;
/** Between two looks at least: under load something happens all the time, and most of it is about other messages. */
const GAP_MS = 10;

export const waitForMessage = endpoint({
  name: "messages.wait",
  method: "GET",
  path: "/wait",
  summary: "Wait until a message is in a state, or cannot come there any more: for tests",
  access: "read",
  query: Type.Object(
    {
      messageId: Type.String({ minLength: 1 }),
      sourceId: Type.Optional(Type.String()),
      destinationId: Type.Optional(
        Type.String({
          description: "Only this destination's outcome counts. Default: as `destinations` says",
        }),
      ),
      destinations: Type.Optional(
        Type.Union([Type.Literal("any"), Type.Literal("all")], {
          description:
            "`any`: one destination that has the state is enough; `all`: every one of the message's destinations must have it, but for those that filtered, skipped or suppressed the message. Default: any",
        }),
      ),
      state: Type.Optional(
        Type.Union(
          WAIT_STATES.map((state) => Type.Literal(state)),
          { description: "Default: accepted, which is to be stored" },
        ),
      ),
      timeoutMs: Type.Optional(Type.Integer({ minimum: 0, maximum: LONGEST_TIMEOUT_MS })),
      timeout: Type.Optional(
        Type.String({ pattern: "^\\d{1,7}(ms|s)?$", description: "The same as `5s`, `5000ms` or `5000`" }),
      ),
    },
    { additionalProperties: false },
  ),
  answers: {
    status: 200,
    description: "The message, in that state",
    schema: Type.Union([StoredMessageSchema, RejectedMessageSchema]),
  },
  errors: ["wait_timed_out", "wait_impossible"],
  async handle({ query, request, token }, { store, live, clock, tokens }) {
    const { messageId, sourceId, destinationId, destinations = "any", state = "accepted" } = query;
    const timeoutMs = query.timeoutMs ?? readTimeout(query.timeout) ?? DEFAULT_TIMEOUT_MS;
    const deadlineMs = clock.monotonic() + Math.min(timeoutMs, LONGEST_TIMEOUT_MS);
    const awake = bell(clock);
    const { signal, isRevoked, stop } = untilRevoked(request.signal, tokens, token);
    const stops = [store.log.onAppend(awake.ring), live.subscribe(awake.ring), stop];
    try {
      for (;;) {
        const message = await findMessage(store, messageId, sourceId);
        if (isRevoked()) throw new CollectorError("unauthorized", "this token was revoked");
        const found = message && shownMessage(token, message);
        const verdict =
          found === undefined ? undefined : judgeWait(found, state, { destinationId, destinations });
        if (found !== undefined && verdict?.kind === "reached") return { status: 200, body: found };
        if (verdict?.kind === "impossible")
          throw new CollectorError("wait_impossible", `${messageId} will not be ${state}: ${verdict.why}`, {
            details: { now: found },
          });
        const leftMs = deadlineMs - clock.monotonic();
        if (leftMs <= 0 || signal.aborted)
          throw new CollectorError(
            "wait_timed_out",
            found === undefined
              ? `no message with the id ${messageId} came within ${timeoutMs} ms`
              : `${messageId} is not ${state} after ${timeoutMs} ms`,
            { details: { now: found ?? null } },
          );
        await awake.wait(Math.min(leftMs, LOOK_AGAIN_MS), signal);
        await clock.sleep(Math.min(leftMs, GAP_MS), signal).catch(() => {});
      }
    } finally {
      for (const stop of stops) stop();
    }
  },
});

function readTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  return Number.parseInt(text, 10) * (/\ds$/.test(text) ? 1_000 : 1);
}
