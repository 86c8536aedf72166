import type { MessageSummary, ProfileView } from "@sluice/control-api";
import { formatFilter } from "@sluice/protocol";
import { Link } from "wouter";
import { useApi, useNames, usePagedQuery } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { LoadMore } from "../../ui/controls/button.js";
import { Time } from "../../ui/data/facts.js";
import { Table } from "../../ui/data/table.js";
import { QueryView } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { messageTitle, visibleValue } from "../../words/messages.js";

/** Ids whose messages are listed; a profile can have hundreds. */
const MOST_IDS = 10;

/** The filter that finds the messages of all ids of a profile. */
export function filterOfUser(ids: readonly string[]): string {
  return formatFilter({
    terms: ids.slice(0, MOST_IDS).map((value) => ({
      kind: "field" as const,
      field: "user" as const,
      negated: false,
      isPrefix: false,
      value,
    })),
  });
}

/** The messages of a user under all of its ids, newest first. */
export function UserMessages({ profile }: { profile: ProfileView }) {
  const api = useApi();
  const names = useNames();
  const { userIds, anonymousIds } = profile.identities;
  const ids = [...new Set([...userIds, ...anonymousIds])];
  const q = filterOfUser(ids);
  const messages = usePagedQuery({
    queryKey: ["messages", "of-user", q],
    read: (cursor) => api.messages.list({ q, limit: 20, cursor }),
    refetchInterval: 5_000,
  });
  const note =
    ids.length > MOST_IDS
      ? `Newest first, under ${MOST_IDS} of its ${ids.length} ids`
      : "Newest first, under all of its ids";
  return (
    <Card title="Messages" note={note} flush>
      <QueryView query={messages}>
        {(items) =>
          items.length === 0 && !messages.hasNextPage ? (
            <p className="soft card-text">No stored messages of this user.</p>
          ) : (
            <Table
              label="Messages, newest first"
              items={items}
              keyOf={({ sourceId, messageId }) => `${sourceId} ${messageId}`}
              columns={[
                { head: "Message", lead: true, cell: (one) => <MessageLink message={one} /> },
                { head: "Type", cell: (one) => visibleValue(one.message.type, 20) },
                { head: "Source", cell: (one) => names.source(one.sourceId) },
                { head: "Delivered", align: "end", cell: deliveredText },
                { head: "Received", align: "end", cell: (one) => <Time at={one.receivedAt} /> },
              ]}
            />
          )
        }
      </QueryView>
      <LoadMore query={messages} />
    </Card>
  );
}

function MessageLink({ message: { message, messageId, sourceId } }: { message: MessageSummary }) {
  return (
    <Link className="strong-link" href={addresses.message(messageId, sourceId)}>
      {messageTitle(message)}
    </Link>
  );
}

function deliveredText({ outcomes }: MessageSummary): string {
  if (outcomes.length === 0) return "No destination";
  return `${outcomes.filter(({ state }) => state === "delivered").length} of ${outcomes.length}`;
}
