import type { Audiences, RefusedJoin } from "@sluice/audiences";
import type { MessageView, StoredMessageView } from "@sluice/control-api";
import type { Store } from "@sluice/event-log";
import { remarks } from "@sluice/protocol";
import type { PlanOf } from "../../documents/documents.js";
import { outcomesWithAttempts, receivedView, rejectedView, violationsOf } from "./outcomes.js";
import type { BodySources } from "./request-body.js";

type JoinIssue = NonNullable<StoredMessageView["issues"]>[number];

const REASONS: Readonly<Record<RefusedJoin["reason"], (field: string) => string>> = {
  source: (field) => `\`${field}\` is not joined to the user: the source's \`identity\` is \`none\``,
  user: (field) =>
    `\`${field}\` is not joined to the user: it is another user, and the source's \`identity\` is \`anonymous\``,
  other: (field) => `\`${field}\` is not joined to the user: it belongs to another user already`,
  earlier: (field) =>
    `\`${field}\` is not joined to the user: the profile had no room for it, or the source's \`identity\` did not allow it then`,
};

/** The joins of ids that were refused, as issues of their message. */
function joinIssues(refused: readonly RefusedJoin[]): JoinIssue[] {
  return refused.map(({ field, reason }) => ({
    code: "join_refused",
    path: field,
    message: REASONS[reason](field),
  }));
}

export interface MessageSources {
  readonly audiences?: Pick<Audiences, "refusedJoins">;
  readonly planOf?: PlanOf;
  /** Makes the bodies of the requests again. */
  readonly bodies?: BodySources;
}

/**
 * The message of that id, or the refused message; undefined if there is neither. It includes what the parts that are given
 * know of it: joins of ids that were refused, violations of the tracking plan, and the bodies of the requests.
 */
export async function findMessage(
  store: Store,
  messageId: string,
  sourceId: string | undefined,
  { audiences, planOf, bodies }: MessageSources = {},
): Promise<MessageView | undefined> {
  const query = { messageId, ...(sourceId === undefined ? {} : { sourceId }) };
  const [stored] = (await store.log.find(query, { limit: 1 })).items;
  if (stored !== undefined) {
    const refused = (await audiences?.refusedJoins(stored)) ?? [];
    const issues = [...remarks(stored.message), ...joinIssues(refused), ...violationsOf(stored, planOf)];
    return {
      ...receivedView(stored),
      state: "accepted",
      ...(issues.length === 0 ? {} : { issues }),
      outcomes: await outcomesWithAttempts(store, stored, bodies),
    };
  }
  const [rejected] = (await store.rejections.find(query, { limit: 1 })).items;
  return rejected === undefined ? undefined : rejectedView(rejected);
}
