import { LIMITS } from "../limits.js";
import { isPlainObject } from "./coerce.js";
import { type Issue, type IssueCode, issue } from "./issues.js";
import { isMessageKind, type MessageKind, type UncheckedMessage } from "./message.js";
import { parseTime } from "./timestamps.js";

const NONE: readonly Issue[] = Object.freeze([]);

/**
 * The issues of a message that has been through `coerce`; empty if it is valid. The SDK and the collector both use it. It
 * does not check the message's size in bytes, which only the caller knows.
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
  checkString(message, "userId", "user_id_not_string", refuse);
  checkString(message, "anonymousId", "anonymous_id_not_string", refuse);
  checkObject(message, "context", "context_not_object", refuse);
  checkObject(message, "integrations", "integrations_not_object", refuse);
  checkMessageId(message, refuse);
  if (kind !== "alias" && isAbsent(message.userId) && isAbsent(message.anonymousId))
    refuse("no_user_anon_id", "userId");
  CHECKS[kind](message, refuse);
  return issues ?? NONE;
}

const CHECKS: Readonly<Record<MessageKind, (message: UncheckedMessage, refuse: Refuse) => void>> = {
  identify: (message, refuse) => checkObject(message, "traits", "traits_not_object", refuse),
  track(message, refuse) {
    if (isAbsent(message.event)) refuse("event_not_defined", "event");
    else checkString(message, "event", "event_not_string", refuse);
    checkObject(message, "properties", "properties_not_object", refuse);
  },
  page: checkPage,
  screen: checkPage,
  group(message, refuse) {
    if (isAbsent(message.groupId)) refuse("group_id_required", "groupId");
    else checkString(message, "groupId", "group_id_not_string", refuse);
    checkObject(message, "traits", "traits_not_object", refuse);
  },
  alias(message, refuse) {
    if (isAbsent(message.userId)) refuse("user_id_required", "userId");
    if (isAbsent(message.previousId)) refuse("previous_id_required", "previousId");
    else checkString(message, "previousId", "previous_id_not_string", refuse);
  },
};

function checkPage(message: UncheckedMessage, refuse: Refuse): void {
  const { name, category } = message;
  if (name !== undefined && typeof name !== "string") refuse("name_not_string", "name");
  if (category !== undefined && typeof category !== "string") refuse("category_not_string", "category");
  else if (!isAbsent(category) && isAbsent(name)) refuse("category_without_name", "name");
  checkObject(message, "properties", "properties_not_object", refuse);
}

function checkMessageId({ messageId }: UncheckedMessage, refuse: Refuse): void {
  if (messageId === undefined) return;
  if (typeof messageId !== "string") refuse("message_id_not_string", "messageId");
  else if (messageId.length >= LIMITS.messageIdLength) refuse("message_id_too_long", "messageId");
}

/** Problems of a valid message that do not stop it. */
export function remarks(message: UncheckedMessage): readonly Issue[] {
  const { timestamp } = message;
  if (timestamp === undefined || timestamp === null || parseTime(timestamp) !== undefined) return NONE;
  return [issue("timestamp_unparseable", "timestamp")];
}

type Refuse = (code: IssueCode, path: string) => void;

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

function checkString(message: UncheckedMessage, field: string, code: IssueCode, refuse: Refuse): void {
  const value = message[field];
  if (!isAbsent(value) && typeof value !== "string") refuse(code, field);
}

function checkObject(message: UncheckedMessage, field: string, code: IssueCode, refuse: Refuse): void {
  const value = message[field];
  if (value !== undefined && !isPlainObject(value)) refuse(code, field);
}
