import type { IssueCode } from "../../packages/protocol/src/messages/issues.js";

/** Nothing in a message alone leads to it: a remark about a message that is accepted. */
export const REMARK = "a remark";

const message = (fields: string): string => `{"messageId":"m-9",${fields}}`;
const BY_ANN = '"userId":"ann"';

/** A message that has the issue, for every code. */
export const ISSUE_EXAMPLES: Readonly<Record<IssueCode, string>> = {
  not_an_object: "[]",
  type_unknown: message(`${BY_ANN},"type":"delete"`),
  no_user_anon_id: message('"type":"page"'),
  user_id_required: message('"type":"alias","previousId":"p","anonymousId":"a"'),
  user_id_not_string: message('"type":"page","userId":{}'),
  anonymous_id_not_string: message('"type":"page","anonymousId":[1]'),
  event_not_defined: message(`${BY_ANN},"type":"track","event":""`),
  event_not_string: message(`${BY_ANN},"type":"track","event":7`),
  group_id_required: message(`${BY_ANN},"type":"group"`),
  group_id_not_string: message(`${BY_ANN},"type":"group","groupId":true`),
  previous_id_required: message(`${BY_ANN},"type":"alias"`),
  previous_id_not_string: message(`${BY_ANN},"type":"alias","previousId":{}`),
  category_without_name: message(`${BY_ANN},"type":"page","category":"Docs"`),
  name_not_string: message(`${BY_ANN},"type":"screen","name":1`),
  category_not_string: message(`${BY_ANN},"type":"page","name":"n","category":{}`),
  properties_not_object: message(`${BY_ANN},"type":"track","event":"E","properties":[1]`),
  traits_not_object: message(`${BY_ANN},"type":"identify","traits":"x"`),
  context_not_object: message(`${BY_ANN},"type":"page","context":7`),
  integrations_not_object: message(`${BY_ANN},"type":"page","integrations":true`),
  message_id_not_string: `{${BY_ANN},"type":"page","messageId":[]}`,
  message_id_too_long: `{${BY_ANN},"type":"page","messageId":"${"m".repeat(100)}"}`,
  message_too_large: message(`${BY_ANN},"type":"page","x":"${"y".repeat(32_768)}"`),
  timestamp_unparseable: REMARK,
};
