import type {
  DeliveryStateView,
  MessageView,
  OutcomeSummary,
  QueryOf,
  WaitStateView,
} from "@sluice/control-api";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import { compileFilter, messageTerms, outcomeTerms } from "@sluice/protocol";
import type { DestinationDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";
import { notFound, withoutUndefined } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { untilRevoked, wakeSignal } from "../endpoint/until-revoked.js";
import { maskFor } from "../masking.js";
import { fillPage, pageOf, pageRequest, timeSpan } from "../paging.js";
import { readFilter, storeQuery } from "./filter-query.js";
import { findMessage } from "./find-message.js";
import { maskedMessage, outcomesOf, receivedView, rejectedView, violationsField } from "./outcomes.js";

/** States of destinations that do not get the message. */
const LEFT_OUT: readonly string[] = ["filtered", "skipped", "suppressed", "discarded"];

type WaitVerdict =
  | { readonly kind: "reached" }
  /** The message can still reach the state. */
  | { readonly kind: "open" }
  /** The message can only reach the state if it is replayed. */
  | { readonly kind: "impossible"; readonly why: string };

const REACHED: WaitVerdict = { kind: "reached" };
const OPEN: WaitVerdict = { kind: "open" };

/** Whether a message has reached a state, and if not, whether it still can. */
export function judgeWait(
  found: MessageView,
  state: WaitStateView,
  {
    destinationId,
    destinations,
  }: { readonly destinationId: string | undefined; readonly destinations: "any" | "all" },
): WaitVerdict {
  if (found.state === "rejected")
    return state === "rejected"
      ? REACHED
      : impossible(`it was refused: ${found.issues.map(({ message }) => message).join("; ")}`);
  if (state === "accepted") return REACHED;
  if (state === "rejected") return impossible("it was accepted");
  const relevant = found.outcomes.filter(
    (outcome) => destinationId === undefined || outcome.destinationId === destinationId,
  );
  if (relevant.length === 0)
    return impossible(
      destinationId === undefined
        ? "no destination was connected to its source when it arrived"
        : `${destinationId} does not get it`,
    );
  return judgeOutcomes(relevant, state, destinations);
}

function judgeOutcomes(
  relevant: readonly OutcomeSummary[],
  state: DeliveryStateView,
  destinations: "any" | "all",
): WaitVerdict {
  const hasState = (outcome: OutcomeSummary) => outcome.state === state;
  const isPending = (outcome: OutcomeSummary) => outcome.state === "pending";
  const missing = relevant.filter((outcome) => !hasState(outcome) && !LEFT_OUT.includes(outcome.state));
  if (relevant.some(hasState) && (destinations === "any" || missing.length === 0)) return REACHED;
  const canReach = destinations === "any" ? relevant.some(isPending) : missing.every(isPending);
  // If nothing is missing and no destination has the state, every destination was left out.
  if (canReach && missing.length > 0) return OPEN;
  const final = (missing.length > 0 ? missing : relevant).filter((outcome) => !isPending(outcome));
  return impossible(
    final.map((outcome) => `${outcome.state} at ${outcome.destinationId} (${outcome.reason})`).join(", "),
  );
}

function impossible(why: string): WaitVerdict {
  return { kind: "impossible", why };
}

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 10 * 60_000;
/** A change wakes the wait. This is for a change that was announced before it could be read. */
const MAX_GAP_MS = 250;
/** Under load something happens all the time, and most of it is about other messages. */
const MIN_GAP_MS = 10;

const waitForMessage = endpoint(
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

const listMessages = endpoint("GET /messages", async ({ query, token }, { store, planOf }) => {
  const filter = readFilter(query.q);
  // Reading a message's outcomes costs far more than looking at the message.
  const isWanted = compileFilter(messageTerms(filter));
  const hasOutcomes = compileFilter(outcomeTerms(filter));
  const { messageId, userId, type, event, sourceId } = query;
  const wanted = {
    ...storeQuery(filter),
    ...withoutUndefined({ messageId, userId, type, event, sourceId }),
    ...timeSpan(query),
  };
  const destinations = await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination);
  const body = await fillPage(
    pageRequest(query),
    (page) => store.log.find(wanted, page),
    async (message) => {
      const view = receivedView(message);
      if (!isWanted(view)) return undefined;
      const outcomes = await outcomesOf(store, message, destinations);
      const summary = {
        ...view,
        ...violationsField(message, planOf),
        outcomes: maskFor(token, outcomes),
      };
      return hasOutcomes(summary) ? summary : undefined;
    },
  );
  return { status: 200, body };
});

export const messageEndpoints: readonly Endpoint[] = [
  listMessages,
  endpoint("GET /messages/:messageId", async ({ params, query, token }, context) => {
    const { store, audiences, planOf } = context;
    const sources = { audiences, planOf, bodies: context };
    const found = await findMessage(store, params.messageId, query.sourceId, sources);
    if (found === undefined) throw notFound("message", params.messageId);
    return { status: 200, body: maskedMessage(token, found) };
  }),
  endpoint("GET /rejected-messages", async ({ query }, { store }) => {
    const { messageId, sourceId } = query;
    const wanted = { ...withoutUndefined({ messageId, sourceId }), ...timeSpan(query) };
    const page = await store.rejections.find(wanted, pageRequest(query));
    return { status: 200, body: pageOf(page, rejectedView) };
  }),
  waitForMessage,
];
