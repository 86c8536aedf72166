import { formatTime, isPlainObject, type JsonObject } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { CallOptions } from "../queue/request-flush.js";
import type { OutgoingMessage } from "./before-send.js";
import type {
  GroupCall,
  IdentifyCall,
  PageCall,
  ScreenCall,
  TrackCall,
  TrackingPlan,
} from "./tracking-plan.js";

/**
 * Returns a function that gives the clock's time as ISO 8601. The text is made once a millisecond, because calls come in bursts and
 * making it costs more than queueing the message.
 */
export function callTime(clock: Clock): () => string {
  let lastMs = Number.NaN;
  let text = "";
  return () => {
    const nowMs = clock.now();
    if (nowMs !== lastMs) {
      lastMs = nowMs;
      text = formatTime(nowMs);
    }
    return text;
  };
}

/** Fields for every call that is made within `withContext`. */
export interface CallContext {
  userId?: string | number | undefined;
  anonymousId?: string | number | undefined;
  /** Merged over the client's `context` and under that of each call, key by key. */
  context?: object | undefined;
}

/** Keeps a value for everything that a function does, also after an `await`, as `AsyncLocalStorage` does. */
export interface ContextStorage {
  get(): CallContext | undefined;
  run<Result>(context: CallContext, work: () => Result): Result;
}

interface Ids {
  readonly userId?: unknown;
  readonly anonymousId?: unknown;
}

/** The context of a `withContext` inside another one. An argument that is not a context, or cannot be read, changes nothing. */
export function nestedContext(outer: CallContext | undefined, inner: CallContext): CallContext {
  try {
    const { userId, anonymousId } = idsWithin(outer, inner) as CallContext;
    return { userId, anonymousId, context: merged(outer?.context, inner.context) };
  } catch {
    return outer ?? {};
  }
}

/** Merges two contexts key by key. The second one wins. */
export function merged(outer: object | undefined, inner: object | undefined): JsonObject | undefined {
  if (!isPlainObject(inner)) return outer && { ...outer };
  return { ...outer, ...inner };
}

/** A copy of a call's argument with the ids of the context that it does not have itself. */
export function withIdsOf(context: Ids, input: object): JsonObject {
  const own: JsonObject = { ...input };
  const { userId, anonymousId } = idsWithin(context, own);
  if (!isAbsent(userId)) own.userId = userId;
  if (!isAbsent(anonymousId)) own.anonymousId = anonymousId;
  return own;
}

/**
 * The inner ids, completed by the outer ones. If an inner id contradicts an outer one, the other outer id is left out: it belongs to
 * another user, and a message with both ids would join the two.
 */
function idsWithin(outer: Ids | undefined, { userId, anonymousId }: Ids): Ids {
  if (!outer || differs(userId, outer.userId) || differs(anonymousId, outer.anonymousId))
    return { userId, anonymousId };
  return {
    userId: isAbsent(userId) ? outer.userId : userId,
    anonymousId: isAbsent(anonymousId) ? outer.anonymousId : anonymousId,
  };
}

function differs(inner: unknown, outer: unknown): boolean {
  return !isAbsent(inner) && !isAbsent(outer) && String(inner) !== String(outer);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

/** A call whose ids may come from `withContext`. Distributes over the shapes of a tracking plan. */
type IdsOptional<Call> = Call extends unknown
  ? Omit<Call, "userId" | "anonymousId"> & {
      userId?: string | number | undefined;
      anonymousId?: string | number | undefined;
    }
  : never;

/** The calls of a client for code that runs within `withContext`: they need no id of their own. */
export interface ContextCalls<Plan extends TrackingPlan, Answer> {
  identify(call: IdsOptional<IdentifyCall<Plan>>, options?: CallOptions): Answer;
  track(call: IdsOptional<TrackCall<Plan>>, options?: CallOptions): Answer;
  page(call: IdsOptional<PageCall<Plan>>, options?: CallOptions): Answer;
  screen(call: IdsOptional<ScreenCall<Plan>>, options?: CallOptions): Answer;
  group(call: IdsOptional<GroupCall<Plan>>, options?: CallOptions): Answer;
}

/** What the option `openTelemetry` uses of `@opentelemetry/api`. */
export interface TraceApi {
  readonly context: { active(): unknown };
  readonly propagation: {
    // biome-ignore lint/suspicious/noExplicitAny: the API's own type of a context cannot be named without the package
    inject(context: any, carrier: Record<string, string>): void;
  };
}

/** Adds the active span's `traceparent` and `tracestate` to the message's `context`. Without an active span, the message stays as it is. */
export function traceContext({
  context,
  propagation,
}: TraceApi): (message: OutgoingMessage) => OutgoingMessage {
  return (message) => {
    const carrier: Record<string, string> = {};
    propagation.inject(context.active(), carrier);
    const { traceparent, tracestate } = carrier;
    if (traceparent === undefined) return message;
    const added: JsonObject = tracestate === undefined ? { traceparent } : { traceparent, tracestate };
    return { ...message, context: { ...added, ...message.context } };
  };
}

/**
 * Turns the three forms of `page` and `screen` into one object: `(call)`, `(name, fields)`, `(category, name, fields)`. Never throws: fields
 * that cannot be read become an object that cannot be read either, so that the call is refused like any other.
 */
export function viewArguments(args: readonly unknown[]): unknown {
  try {
    const [first, second, third] = args;
    if (typeof first !== "string") return first;
    if (typeof second === "string") return { ...asFields(third), category: first, name: second };
    return { ...asFields(second), name: first };
  } catch {
    return UNREADABLE;
  }
}

/** What follows the three forms of `page` and `screen`: the options of the call. */
export function viewOptions(args: readonly unknown[]): unknown {
  const [first, second] = args;
  if (typeof first !== "string") return second;
  return typeof second === "string" ? args[3] : args[2];
}

function asFields(value: unknown): object {
  return typeof value === "object" && value !== null ? value : {};
}

const UNREADABLE: object = {
  get fields(): never {
    throw new Error("The fields cannot be read");
  },
};
