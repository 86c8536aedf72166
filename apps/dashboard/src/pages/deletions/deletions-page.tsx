import type { DeletionStatus, DeletionView, IdKind, SuppressionView } from "@sluice/control-api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useApi, usePagedQuery } from "../../api/queries.js";
import { Button, LoadMore } from "../../ui/controls/button.js";
import { InlineForm } from "../../ui/controls/field.js";
import { Badge, Time } from "../../ui/data/facts.js";
import { Table } from "../../ui/data/table.js";
import { EmptyState, Failure, QueryView, Skeleton, useNotify } from "../../ui/feedback.js";
import { Card, Page } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { counted } from "../../words/numbers.js";
import type { Tone } from "../../words/states.js";
import { NewDeletion } from "./new-deletion.js";
import { ReceiptDialog } from "./receipt-dialog.js";

const KINDS: Readonly<Record<IdKind, string>> = { user: "User id", anonymous: "Anonymous id" };

/** Ids whose messages are rejected. Only digests are stored; a suppression is lifted by digest or by the id itself. */
function SuppressionsCard() {
  const api = useApi();
  const suppressions = useQuery({
    queryKey: ["suppressions"],
    queryFn: async () => (await api.suppressions.list({ limit: 100 })).items,
    refetchInterval: 10_000,
    retry: false,
  });
  return (
    <Card title="Suppressed users" note="Their messages are rejected. Only a keyed hash of each id is stored">
      <QueryView query={suppressions} skeleton={<Skeleton lines={2} />}>
        {(items) => (items.length === 0 ? <p className="soft">None.</p> : <Suppressions items={items} />)}
      </QueryView>
    </Card>
  );
}

function Suppressions({ items }: { items: readonly SuppressionView[] }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const [userId, setUserId] = useState("");
  const lift = useMutation({
    mutationFn: ({ id, by }: { id: string; by: "userId" | "idHmac" }) => api.suppressions.lift(id, by),
    onSuccess: () => {
      setUserId("");
      notify("Messages are accepted again");
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["suppressions"] }),
  });
  return (
    <div className="stack">
      <ul className="lines">
        {items.map((one) => (
          <li key={one.idHmac}>
            <code className="grow receipt-id">{one.idHmac}</code>
            <span className="small soft">
              {KINDS[one.kind]}
              {one.joinedTo !== undefined && `, joined to ${one.joinedTo.slice(0, 8)}…`}
            </span>
            <span className="small faint">
              <Time at={one.since} />
            </span>
            <Button
              size="small"
              busy={lift.isPending && lift.variables.id === one.idHmac}
              onClick={() => lift.mutate({ id: one.idHmac, by: "idHmac" })}
            >
              Lift
            </Button>
          </li>
        ))}
      </ul>
      <InlineForm
        label="User id to lift"
        placeholder="User id"
        button="Lift by id"
        value={userId}
        busy={lift.isPending && lift.variables.by === "userId"}
        onChange={setUserId}
        onSubmit={(id) => id !== "" && lift.mutate({ id, by: "userId" })}
      />
      {lift.isError && <Failure error={lift.error} />}
    </div>
  );
}

const STATUS: Readonly<Record<DeletionStatus, { readonly label: string; readonly tone: Tone }>> = {
  initialized: { label: "Waiting", tone: "wait" },
  running: { label: "Running", tone: "wait" },
  undelivered: { label: "Delete message failed", tone: "bad" },
  finished: { label: "Finished", tone: "good" },
  failed: { label: "Failed, will retry", tone: "bad" },
};

export function DeletionsPage() {
  const api = useApi();
  const [isAdding, setAdding] = useState(false);
  const [opened, setOpened] = useState<DeletionView | undefined>();
  const deletions = usePagedQuery({
    queryKey: ["deletions"],
    read: (cursor) => api.deletions.list({ limit: 25, cursor }),
    refetchInterval: 2_000,
  });
  return (
    <Page
      title="Deletions"
      lead="Delete all data of a user. Destinations are notified, and a receipt lists what was removed."
      actions={
        <Button look="primary" icon="deletions" onClick={() => setAdding(true)}>
          Delete users
        </Button>
      }
    >
      <Card title="Requests" note="Newest first" flush>
        <QueryView query={deletions} canRetry>
          {(items) =>
            items.length === 0 ? <NoDeletions /> : <DeletionTable deletions={items} onOpen={setOpened} />
          }
        </QueryView>
        <LoadMore query={deletions} />
      </Card>
      <SuppressionsCard />
      <NewDeletion open={isAdding} onClose={() => setAdding(false)} />
      <ReceiptDialog
        deletion={deletions.data?.find((one) => one.id === opened?.id) ?? opened}
        onClose={() => setOpened(undefined)}
      />
    </Page>
  );
}

function NoDeletions() {
  return (
    <EmptyState icon="deletions" title="No deletions yet">
      <p>
        A deletion removes a user's messages, pending deliveries, attempts, profile and audience memberships.
        Webhooks of the affected sources get a delete message.
      </p>
    </EmptyState>
  );
}

function DeletionTable({
  deletions,
  onOpen,
}: {
  deletions: readonly DeletionView[];
  onOpen: (deletion: DeletionView) => void;
}) {
  return (
    <Table
      label="Deletion requests, newest first"
      items={deletions}
      keyOf={(one) => one.id}
      columns={[
        {
          head: "Request",
          lead: true,
          cell: (one) => (
            <button type="button" className="text-button" onClick={() => onOpen(one)}>
              {counted(one.userCount, "user")}
              <span className="visually-hidden">, show the receipt</span>
            </button>
          ),
        },
        { head: "Status", cell: StatusBadge },
        {
          head: "Step",
          cell: (one) => <span className="soft">{stepOf(one)}</span>,
        },
        { head: "Later messages", cell: (one) => (one.suppress ? "Rejected" : "Accepted") },
        { head: "Requested", align: "end", cell: (one) => <Time at={one.createdAt} /> },
      ]}
    />
  );
}

/** What the deletion does now. */
function stepOf({ status, step, receipt }: DeletionView): string {
  const deliveries = (receipt?.deleteMessages ?? []).flatMap((one) => one.deliveries ?? []);
  const numberOf = (state: string) => deliveries.filter((one) => one.state === state).length;
  if (status === "finished")
    return receipt?.gaveUpAt === undefined ? "Done" : `${numberOf("failed")} not notified`;
  if (step !== "trace") return visibleText(step, 80);
  const parts = [
    `${numberOf("sent")} of ${counted(deliveries.length, "delete message")} delivered`,
    numberOf("failed") === 0 ? "" : `${numberOf("failed")} failed`,
  ];
  return `Data erased · ${parts.filter(Boolean).join(", ")}`;
}

function StatusBadge({ status, error }: DeletionView) {
  return (
    <Badge tone={STATUS[status].tone} {...(error === undefined ? {} : { title: error })}>
      {STATUS[status].label}
    </Badge>
  );
}
