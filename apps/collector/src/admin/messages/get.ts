import { Type } from "@sinclair/typebox";
import type { Audiences } from "@sluice/audiences";
import type { Store } from "@sluice/event-log";
import { formatTime, type MessageView, remarks } from "@sluice/protocol";
import { CollectorError } from "../../errors.js";
import type { KnownToken } from "../../tokens/tokens.js";
import { endpoint } from "../endpoint.js";
import { maskFor } from "../mask-for.js";
import { joinIssues } from "./join-issues.js";
import { RejectedMessageSchema, rejectedView, StoredMessageSchema } from "./message-schema.js";
import { outcomesWithAttempts } from "./outcomes.js";

export const getMessage = endpoint({
  name: "messages.get",
  method: "GET",
  path: "/messages/:messageId",
  summary: "One message with its outcome and attempts at every destination; a refused one with its reasons",
  access: "read",
  query: Type.Object(
    {
      sourceId: Type.Optional(
        Type.String({ description: "Chooses where two sources sent the same id. Default: the newest" }),
      ),
    },
    { additionalProperties: false },
  ),
  answers: {
    status: 200,
    description: "The message",
    schema: Type.Union([StoredMessageSchema, RejectedMessageSchema]),
  },
  errors: ["not_found"],
  async handle({ params, query, token }, { store, audiences }) {
    const found = await findMessage(store, params.messageId ?? "", query.sourceId, audiences);
    if (found === undefined)
      throw new CollectorError("not_found", `no message has the id ${params.messageId}`);
    return { status: 200, body: shownMessage(token, found) };
  },
});

/** What a token may see of it: all that was received, and of the outcomes no webhook's URL beyond where it leads. */
export function shownMessage(token: KnownToken, found: MessageView): MessageView {
  return found.state === "rejected" ? found : { ...found, outcomes: maskFor(token, found.outcomes) };
}

/** The message of that id, or the refused one; undefined when there is neither. With `audiences`: refused joins among its issues. */
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
      messageId: stored.messageId,
      sourceId: stored.sourceId,
      receivedAt: formatTime(stored.receivedAtMs),
      state: "accepted",
      message: stored.message,
      ...(issues.length === 0 ? {} : { issues }),
      outcomes: await outcomesWithAttempts(store, stored),
    };
  }
  const [rejected] = (await store.rejections.find(query, { limit: 1 })).items;
  return rejected === undefined ? undefined : rejectedView(rejected);
}
