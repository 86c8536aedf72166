import type { Audiences } from "@sluice/audiences";
import type { MessageView } from "@sluice/control-api";
import type { Store } from "@sluice/event-log";
import { remarks } from "@sluice/protocol";
import { joinIssues } from "./join-issues.js";
import { receivedView, rejectedView } from "./message-view.js";
import { outcomesWithAttempts } from "./outcomes.js";

/**
 * The message of that id, or the refused message; undefined if there is neither. With `audiences`, its issues include the
 * joins of ids that were refused.
 */
export async function findMessage(
  store: Store,
  messageId: string,
  sourceId: string | undefined,
  audiences?: Pick<Audiences, "refusedJoins">,
): Promise<MessageView | undefined> {
  const query = { messageId, ...(sourceId === undefined ? {} : { sourceId }) };
  const [stored] = (await store.log.find(query, { limit: 1 })).items;
  if (stored !== undefined) {
    const refused = (await audiences?.refusedJoins(stored)) ?? [];
    const issues = [...remarks(stored.message), ...joinIssues(refused)];
    return {
      ...receivedView(stored),
      state: "accepted",
      ...(issues.length === 0 ? {} : { issues }),
      outcomes: await outcomesWithAttempts(store, stored),
    };
  }
  const [rejected] = (await store.rejections.find(query, { limit: 1 })).items;
  return rejected === undefined ? undefined : rejectedView(rejected);
}
