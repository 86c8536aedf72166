import type { ProblemsView, RejectedMessageView } from "@sluice/control-api";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useApi, useProblems } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { CodeText } from "../../ui/data/code-block.js";
import { Count, LastAt, Time } from "../../ui/data/facts.js";
import { Table } from "../../ui/data/table.js";
import { EmptyState, Failure, QueryView, Skeleton } from "../../ui/feedback.js";
import { Card, Page } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { counted } from "../../words/numbers.js";
import { SourceLink } from "../sources/source-link.js";

/** Rejected messages that are grouped. */
const READ = 200;

/** What clients send that is not taken, or not taken as they meant it. */
export function WarningsPage() {
  const api = useApi();
  const problems = useProblems();
  const rejected = useQuery({
    queryKey: ["rejected"],
    queryFn: async () => (await api.messages.rejected({ limit: READ })).items,
    refetchInterval: 5_000,
  });
  return (
    <Page
      title="Warnings"
      lead="What clients sent that was not taken, or not as they meant it, and who sent it."
    >
      <QueryView query={problems}>
        {(found) =>
          rejected.isPending ? <Skeleton /> : <WarningCards problems={found} rejected={rejected} />
        }
      </QueryView>
    </Page>
  );
}

function WarningCards({
  problems,
  rejected,
}: {
  problems: ProblemsView;
  rejected: Pick<UseQueryResult<readonly RejectedMessageView[]>, "data" | "error">;
}) {
  const { refusedRequests, wrongKeys, refusedJoins } = problems;
  const messages = rejected.data ?? [];
  const number = refusedRequests.length + wrongKeys.length + refusedJoins.length + messages.length;
  if (number === 0 && rejected.error === null)
    return (
      <Card>
        <EmptyState icon="check" title="No warnings">
          <p>Every request and every message was taken.</p>
        </EmptyState>
      </Card>
    );
  return (
    <>
      {refusedRequests.length > 0 && <RefusedRequests requests={refusedRequests} />}
      {wrongKeys.length > 0 && <WrongKeys keys={wrongKeys} />}
      {rejected.error !== null && <Failure error={rejected.error} />}
      {messages.length > 0 && <RejectedMessages messages={messages} />}
      {refusedJoins.length > 0 && <RefusedJoins joins={refusedJoins} />}
    </>
  );
}

function RefusedRequests({ requests: refused }: { requests: ProblemsView["refusedRequests"] }) {
  return (
    <Card
      title="Refused requests"
      note="Refused whole in the last hour, the most frequent first. None of their messages is stored"
      flush
    >
      <Table
        label="Refused requests, the most frequent first"
        items={refused}
        keyOf={({ code }) => code}
        columns={[
          { head: "Code", lead: true, cell: ({ code }) => <span className="mono">{code}</span> },
          { head: "Status", cell: ({ status }) => status },
          { head: "Requests", align: "end", cell: ({ requests }) => <Count value={requests} /> },
          { head: "Last", align: "end", cell: ({ lastAt }) => <LastAt at={lastAt} /> },
        ]}
      />
    </Card>
  );
}

function WrongKeys({ keys }: { keys: ProblemsView["wrongKeys"] }) {
  return (
    <Card title="Unknown write keys" note="In the last 7 days, the latest first" flush>
      <Table
        label="Unknown write keys, the latest first"
        items={keys}
        keyOf={({ keyPrefix, address, client }) => JSON.stringify([keyPrefix, address, client])}
        columns={[
          {
            head: "Key",
            lead: true,
            cell: ({ keyPrefix }) =>
              keyPrefix === undefined ? "No key" : <span className="mono">{visibleText(keyPrefix)}…</span>,
          },
          { head: "Address", cell: ({ address }) => <span className="mono">{address}</span> },
          { head: "Client", cell: ({ client }) => visibleText(client ?? "Unknown", 100) },
          { head: "Requests", align: "end", cell: ({ requests }) => <Count value={requests} /> },
          { head: "First", align: "end", cell: ({ firstAt }) => <Time at={firstAt} /> },
          { head: "Last", align: "end", cell: ({ lastAt }) => <Time at={lastAt} /> },
        ]}
      />
    </Card>
  );
}

interface RejectedGroup {
  readonly source: string;
  readonly code: string;
  /** The newest one. */
  readonly newest: RejectedMessageView;
  readonly messages: number;
}

function RejectedMessages({ messages }: { messages: readonly RejectedMessageView[] }) {
  return (
    <Card
      title="Rejected messages"
      note={`Messages that are not valid, by source and reason, of the newest ${counted(messages.length, "message")}`}
      flush
      actions={
        <ButtonLink size="small" href={addresses.live("outcome:rejected")}>
          Show them
        </ButtonLink>
      }
    >
      <Table
        label="Rejected messages by source and reason"
        items={rejectedGroups(messages)}
        keyOf={({ source, code }) => `${source} ${code}`}
        columns={[
          {
            head: "Reason",
            lead: true,
            // The next column has the code.
            cell: ({ newest, code }) => (
              <span>
                <CodeText
                  text={(newest.issues[0]?.message ?? "Not valid").replace(`${code}: `, "")}
                  limit={200}
                />
              </span>
            ),
          },
          { head: "Code", cell: ({ code }) => <span className="mono small nowrap">{code}</span> },
          {
            head: "Source",
            cell: ({ source }) => (
              <span className="short">
                <SourceLink id={source} />
              </span>
            ),
          },
          { head: "Messages", align: "end", cell: (group) => <Count value={group.messages} /> },
          { head: "Last", align: "end", cell: ({ newest }) => <Time at={newest.receivedAt} /> },
        ]}
      />
    </Card>
  );
}

/** By source and the code of the first issue; `messages` are newest first. */
function rejectedGroups(messages: readonly RejectedMessageView[]): readonly RejectedGroup[] {
  const groups = new Map<string, RejectedGroup>();
  for (const newest of messages) {
    const code = newest.issues[0]?.code ?? "unknown";
    const key = `${newest.sourceId} ${code}`;
    const known = groups.get(key) ?? { source: newest.sourceId, code, newest, messages: 0 };
    groups.set(key, { ...known, messages: known.messages + 1 });
  }
  return [...groups.values()].sort((a, b) => b.messages - a.messages);
}

function RefusedJoins({ joins }: { joins: ProblemsView["refusedJoins"] }) {
  return (
    <Card
      title="Refused joins of ids"
      note="Identify and alias messages that asked for ids to be joined that were not, in the last 7 days. They are stored and sent"
      flush
    >
      <Table
        label="Refused joins of ids by source"
        items={joins}
        keyOf={({ sourceId }) => sourceId}
        columns={[
          { head: "Source", lead: true, cell: ({ sourceId }) => <SourceLink id={sourceId} /> },
          { head: "Messages", align: "end", cell: ({ messages }) => <Count value={messages} /> },
          { head: "First", align: "end", cell: ({ firstAt }) => <Time at={firstAt} /> },
          { head: "Last", align: "end", cell: ({ lastAt }) => <Time at={lastAt} /> },
          {
            head: "Actions",
            align: "end",
            cell: ({ sourceId }) => (
              <Link href={addresses.live(`source:${sourceId} type:identify type:alias`)}>
                Show its identify and alias messages
              </Link>
            ),
          },
        ]}
      />
    </Card>
  );
}
