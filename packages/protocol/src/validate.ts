import { isPlainObject } from "./coerce.js";
import { type Issue, type IssueCode, issue } from "./issues.js";
import { LIMITS } from "./limits.js";
import { isMessageKind, type UncheckedMessage } from "./message.js";
import { parseTime } from "./timestamps.js";

const NONE: readonly Issue[] = Object.freeze([]);

/**
 * What is wrong with a message that has been through `coerce`; empty when it is good. The SDK and the collector
 * both ask this one function. It does not measure the message: its size in bytes is known to the caller alone.
 */
export function validate(message: unknown): readonly Issue[] {
  if (!isPlainObject(message)) return [issue("not_an_object", "")];
  const { type: kind } = message;
  if (!isMessageKind(kind)) return [issue("type_unknown", "type")];
  let issues: Issue[] | undefined;
  const refuse = (code: IssueCode, path: string): void => {
    issues ??= [];
    issues.push(issue(code, path));
  };

  checkId(message, "userId", "user_id_not_string", refuse);
  checkId(message, "anonymousId", "anonymous_id_not_string", refuse);
  checkObject(message, "context", "context_not_object", refuse);
  checkObject(message, "integrations", "integrations_not_object", refuse);
  const { messageId } = message;
  if (messageId !== undefined) {
    if (typeof messageId !== "string") refuse("message_id_not_string", "messageId");
    else if (messageId.length >= LIMITS.messageIdLength) refuse("message_id_too_long", "messageId");
  }

  if (kind === "alias") {
    if (isAbsent(message.userId)) refuse("user_id_required", "userId");
    if (isAbsent(message.previousId)) refuse("previous_id_required", "previousId");
    else if (typeof message.previousId !== "string") refuse("previous_id_not_string", "previousId");
  } else if (isAbsent(message.userId) && isAbsent(message.anonymousId)) {
    refuse("no_user_anon_id", "userId");
  }

  switch (kind) {
    case "identify":
      checkObject(message, "traits", "traits_not_object", refuse);
      break;
    case "track":
      if (isAbsent(message.event)) refuse("event_not_defined", "event");
      else if (typeof message.event !== "string") refuse("event_not_string", "event");
      checkObject(message, "properties", "properties_not_object", refuse);
      break;
    case "page":
    case "screen":
      if (message.name !== undefined && typeof message.name !== "string") refuse("name_not_string", "name");
      if (message.category !== undefined && typeof message.category !== "string")
        refuse("category_not_string", "category");
      else if (!isAbsent(message.category) && isAbsent(message.name)) refuse("category_without_name", "name");
      checkObject(message, "properties", "properties_not_object", refuse);
      break;
    case "group":
      if (isAbsent(message.groupId)) refuse("group_id_required", "groupId");
      else if (typeof message.groupId !== "string") refuse("group_id_not_string", "groupId");
      checkObject(message, "traits", "traits_not_object", refuse);
      break;
    case "alias":
      break;
    default: {
      kind satisfies never;
    }
  }
  return issues ?? NONE;
}

/** What is odd about a good message, and was made up for: nothing that refuses it. */
export function remarks(message: UncheckedMessage): readonly Issue[] {
  const { timestamp } = message;
  if (timestamp === undefined || timestamp === null || parseTime(timestamp) !== undefined) return NONE;
  return [issue("timestamp_unparseable", "timestamp")];
}

type Refuse = (code: IssueCode, path: string) => void;

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

function checkId(message: UncheckedMessage, field: string, code: IssueCode, refuse: Refuse): void {
  const value = message[field];
  if (!isAbsent(value) && typeof value !== "string") refuse(code, field);
}

function checkObject(message: UncheckedMessage, field: string, code: IssueCode, refuse: Refuse): void {
  const value = message[field];
  if (value !== undefined && !isPlainObject(value)) refuse(code, field);
}
