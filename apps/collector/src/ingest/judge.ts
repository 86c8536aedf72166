import type { MessageKey } from "@sluice/event-log";
import { wantsIp } from "@sluice/event-log";
import { type Issue, isPlainObject, issue, LIMITS, validate } from "@sluice/protocol";
import { MAX_NESTING, type OpenedRequest } from "./open-request.js";

/** Why the collector refuses a message, beyond what the shared validator knows. */
export interface RefusalIssue {
  readonly code: Issue["code"] | "nested_too_deep" | "invalid_write_key";
  readonly path: string;
  readonly message: string;
}

export interface Refusal {
  readonly index: number;
  readonly messageId?: string;
  /** At least one. */
  readonly issues: readonly RefusalIssue[];
}

/** Which messages of a request are taken, and which are not. */
export interface Judgement {
  readonly keys: readonly MessageKey[];
  readonly madeIds: readonly (readonly [index: number, messageId: string])[];
  readonly refusals: readonly Refusal[];
  /** Some message wants the connection's address as its `context.ip`. */
  readonly wantsIp: boolean;
}

export interface JudgeOptions {
  /** Whether a write key that stands in a message belongs to another source than the request's. */
  readonly isForeignKey: (writeKey: string) => boolean;
  readonly makeId: () => string;
}

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
/** Ids longer than the limit are refused, and named by their beginning. */
const NAMED_ID_LENGTH = 2 * LIMITS.messageIdLength;

/** Judges each message of a request on its own. */
export function judge(request: OpenedRequest, options: JudgeOptions): Judgement {
  const keys: MessageKey[] = [];
  const madeIds: [number, string][] = [];
  const refusals: Refusal[] = [];
  let somebodyWantsIp = false;

  for (const [index, item] of request.items.entries()) {
    const issues = request.deepItems.has(index) ? [TOO_DEEP] : issuesOf(request, index, item, options);
    if (issues.length > 0 || !isPlainObject(item)) {
      const messageId = isPlainObject(item) ? item.messageId : undefined;
      refusals.push({
        index,
        ...(typeof messageId === "string" ? { messageId: messageId.slice(0, NAMED_ID_LENGTH) } : {}),
        issues,
      });
      continue;
    }
    let messageId = item.messageId as string | undefined;
    if (messageId === undefined || messageId === "") {
      messageId = options.makeId();
      madeIds.push([index, messageId]);
    }
    const type = item.type as string;
    const userId = ((item.userId || item.anonymousId) ?? "") as string;
    keys.push({
      index,
      messageId,
      userId,
      ...(item.userId ? {} : { isAnonymous: true }),
      type,
      ...(type === "track" ? { event: item.event as string } : {}),
    });
    somebodyWantsIp ||= wantsIp(item);
  }
  return { keys, madeIds, refusals, wantsIp: somebodyWantsIp };
}

function issuesOf(
  request: OpenedRequest,
  index: number,
  item: unknown,
  options: JudgeOptions,
): readonly RefusalIssue[] {
  if (request.largeItems.has(index)) return [issue("message_too_large", "")];
  const issues = validate(item);
  const writeKey = request.isBatch && isPlainObject(item) ? item.writeKey : undefined;
  if (typeof writeKey === "string" && writeKey !== "" && options.isForeignKey(writeKey))
    return [...issues, FOREIGN_KEY];
  return issues;
}
