/** The reasons for which a message is refused, by code. `docs/reference/errors.md` lists them. */
export const ISSUES = {
  not_an_object: "A message must be a JSON object",
  type_unknown: "`type` must be one of identify, track, page, screen, group, alias",
  no_user_anon_id: "A `userId` or an `anonymousId` is required",
  user_id_required: "`userId` is required",
  user_id_not_string: "`userId` must be a string",
  anonymous_id_not_string: "`anonymousId` must be a string",
  event_not_defined: "`event` is required and must not be empty",
  event_not_string: "`event` must be a string",
  group_id_required: "`groupId` is required",
  group_id_not_string: "`groupId` must be a string",
  previous_id_required: "`previousId` is required",
  previous_id_not_string: "`previousId` must be a string",
  category_without_name: "A `category` needs a `name`",
  name_not_string: "`name` must be a string",
  category_not_string: "`category` must be a string",
  properties_not_object: "`properties` must be an object",
  traits_not_object: "`traits` must be an object",
  context_not_object: "`context` must be an object",
  integrations_not_object: "`integrations` must be an object",
  message_id_not_string: "`messageId` must be a string",
  message_id_too_long: "`messageId` must be shorter than 100 characters",
  message_too_large: "A message must not be larger than 32 KB (32,768 bytes)",
  timestamp_unparseable: "`timestamp` is not an ISO 8601 time: the time of receipt is used",
} as const;

export type IssueCode = keyof typeof ISSUES;

/** A problem of a message. */
export interface Issue {
  readonly code: IssueCode;
  /** The field as a dotted path; `""` is the message itself. */
  readonly path: string;
  readonly message: string;
}

export function issue(code: IssueCode, path: string): Issue {
  return { code, path, message: ISSUES[code] };
}
