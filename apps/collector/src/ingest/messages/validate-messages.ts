import { setImmediate } from "node:timers/promises";
import { type MessageKey, wantsIp } from "@sluice/event-log";
import {
  type Issue,
  isPlainObject,
  issue,
  LIMITS,
  type Plan,
  planIssues,
  requestBudget,
  type StepBudget,
  validate,
} from "@sluice/protocol";
import { serialQueue } from "@sluice/resilience";
import { MAX_NESTING, type OpenedRequest } from "./open-request.js";

/** An issue of the shared validator, or one that only the collector can find. */
interface RefusalIssue {
  readonly code: Issue["code"] | "nested_too_deep" | "invalid_write_key" | "plan_violation";
  readonly path: string;
  readonly message: string;
}

export interface Refusal {
  readonly index: number;
  readonly messageId?: string;
  /** At least one. */
  readonly issues: readonly RefusalIssue[];
}

/** Which messages of a request are valid, and which are refused. */
interface ValidatedMessages {
  readonly keys: readonly MessageKey[];
  readonly madeIds: readonly (readonly [index: number, messageId: string])[];
  readonly refusals: readonly Refusal[];
  /** Whether a message asks for the connection's address as its `context.ip`. */
  readonly wantsIp: boolean;
}

interface ValidateOptions {
  /** Whether a write key in a message belongs to another source than the request's. */
  readonly isForeignKey: (writeKey: string) => boolean;
  readonly makeId: () => string;
  /** Messages that violate it are refused. */
  readonly plan?: Plan | undefined;
}

type Rules = ValidateOptions & { readonly budget: StepBudget };

const TOO_DEEP: RefusalIssue = {
  code: "nested_too_deep",
  path: "",
  message: `A message must not be nested deeper than ${MAX_NESTING} levels`,
};
const FOREIGN_KEY: RefusalIssue = {
  code: "invalid_write_key",
  path: "writeKey",
  message: "`writeKey` disagrees with the request's",
};
/** A refusal shows this much of an id that is too long. */
const SHOWN_ID_LENGTH = 2 * LIMITS.messageIdLength;

/** Validates each message of a request on its own. */
export function validateMessages(request: OpenedRequest, options: ValidateOptions): ValidatedMessages {
  const rules: Rules = { ...options, budget: requestBudget(request.body.length) };
  const keys: MessageKey[] = [];
  const madeIds: [number, string][] = [];
  const refusals: Refusal[] = [];
  let oneWantsIp = false;

  for (const [index, item] of request.items.entries()) {
    const issues = request.deepItems.has(index) ? [TOO_DEEP] : issuesOf(request, index, item, rules);
    if (issues.length > 0 || !isPlainObject(item)) {
      refusals.push(refusal(index, item, issues));
      continue;
    }
    let messageId = item.messageId as string | undefined;
    if (messageId === undefined || messageId === "") {
      messageId = options.makeId();
      madeIds.push([index, messageId]);
    }
    keys.push(keyOf(index, item, messageId));
    oneWantsIp ||= wantsIp(item);
  }
  return { keys, madeIds, refusals, wantsIp: oneWantsIp };
}

function refusal(index: number, item: unknown, issues: readonly RefusalIssue[]): Refusal {
  const messageId = isPlainObject(item) ? item.messageId : undefined;
  return {
    index,
    ...(typeof messageId === "string" ? { messageId: messageId.slice(0, SHOWN_ID_LENGTH) } : {}),
    issues,
  };
}

/** The key of a message that is valid. */
function keyOf(index: number, item: { readonly [field: string]: unknown }, messageId: string): MessageKey {
  const type = item.type as string;
  return {
    index,
    messageId,
    userId: ((item.userId || item.anonymousId) ?? "") as string,
    ...(item.userId ? {} : { isAnonymous: true }),
    type,
    ...(type === "track" ? { event: item.event as string } : {}),
  };
}

function issuesOf(
  request: OpenedRequest,
  index: number,
  item: unknown,
  { isForeignKey, plan, budget }: Rules,
): readonly RefusalIssue[] {
  if (request.largeItems.has(index)) return [issue("message_too_large", "")];
  const issues = validate(item);
  const writeKey = request.isBatch && isPlainObject(item) ? item.writeKey : undefined;
  if (typeof writeKey === "string" && writeKey !== "" && isForeignKey(writeKey))
    return [...issues, FOREIGN_KEY];
  if (plan === undefined || issues.length > 0 || !isPlainObject(item)) return issues;
  return planIssues(item, plan, budget);
}

/** Resolves in a turn of the event loop in which no other caller resumes, in the order of the calls. */
type NextTurn = () => Promise<void>;

/**
 * Spreads work that takes milliseconds over turns of the event loop, so that lighter requests are served in between instead of behind
 * all of it.
 */
export function eventLoopTurns(): NextTurn {
  const enqueue = serialQueue();
  return () => enqueue(() => setImmediate());
}

/** Runs a generator, each of its slices in a turn of its own. */
export async function runInTurns<T>(slices: Generator<void, T>, nextTurn: NextTurn): Promise<T> {
  for (;;) {
    await nextTurn();
    const slice = slices.next();
    if (slice.done) return slice.value;
  }
}
