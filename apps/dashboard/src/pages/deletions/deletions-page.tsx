import type { DeletionStatus, DeletionView } from "@sluice/protocol";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/api-context.js";
import { Button } from "../../ui/controls/button.js";
import { Badge } from "../../ui/data/badge.js";
import { Table } from "../../ui/data/table.js";
import { Time } from "../../ui/data/time.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card, Page } from "../../ui/layout/page.js";
import { counted } from "../../words/numbers.js";
import type { Tone } from "../../words/states.js";
import { visibleText } from "../../words/visible-text.js";
import { NewDeletion } from "./new-deletion.js";
import { ReceiptDialog } from "./receipt-dialog.js";
import { SuppressionsCard } from "./suppressions-card.js";

const STATUS: Readonly<Record<DeletionStatus, { readonly label: string; readonly tone: Tone }>> = {
  initialized: { label: "Waiting", tone: "wait" },
  running: { label: "Running", tone: "wait" },
  finished: { label: "Finished", tone: "good" },
  failed: { label: "Failed, tried again", tone: "bad" },
};

export function DeletionsPage() {
  const api = useApi();
  const [isAdding, setAdding] = useState(false);
  const [opened, setOpened] = useState<DeletionView | undefined>();
  const deletions = useInfiniteQuery({
    queryKey: ["deletions"],
    queryFn: ({ pageParam }) => api.deletions.list({ limit: 25, cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: 2_000,
  });
  const items = deletions.data?.pages.flatMap((page) => page.items) ?? [];
  const add = (
    <Button look="primary" icon="deletions" onClick={() => setAdding(true)}>
      Delete users
    </Button>
  );
  return (
    <Page
      title="Deletions"
      lead="Removes everything about a user, tells the destinations, and keeps a receipt of what was removed where."
      actions={add}
    >
      {deletions.isError ? (
        <Failure error={deletions.error} onRetry={() => void deletions.refetch()} />
      ) : (
        <Card title="Requests" note="Newest first" flush>
          {deletions.isPending ? (
            <Skeleton />
          ) : items.length === 0 ? (
            <EmptyState icon="deletions" title="Nobody was deleted yet">
              <p>
                A deletion removes stored messages, queued deliveries, attempts, profile and memberships, and
                sends one delete message for each affected source that has a webhook.
              </p>
            </EmptyState>
          ) : (
            <Table
              label="Deletion requests, newest first"
              items={items}
              keyOf={(one) => one.id}
              columns={[
                {
                  head: "Request",
                  lead: true,
                  cell: (one) => (
                    <button type="button" className="text-button" onClick={() => setOpened(one)}>
                      {counted(one.userCount, "user")}
                      <span className="visually-hidden">, show the receipt</span>
                    </button>
                  ),
                },
                {
                  head: "Status",
                  cell: (one) => (
                    <Badge
                      tone={STATUS[one.status].tone}
                      {...(one.error === undefined ? {} : { title: one.error })}
                    >
                      {STATUS[one.status].label}
                    </Badge>
                  ),
                },
                {
                  head: "Step",
                  cell: (one) => (
                    <span className="soft">
                      {one.status === "finished" ? "All done" : visibleText(one.step, 80)}
                    </span>
                  ),
                },
                { head: "Later messages", cell: (one) => (one.suppress ? "Refused" : "Accepted") },
                { head: "Asked", align: "end", cell: (one) => <Time at={one.createdAt} /> },
              ]}
            />
          )}
          {deletions.hasNextPage && (
            <div className="list-more">
              <Button
                size="small"
                busy={deletions.isFetchingNextPage}
                onClick={() => void deletions.fetchNextPage()}
              >
                Show more
              </Button>
            </div>
          )}
        </Card>
      )}
      <SuppressionsCard />
      <NewDeletion open={isAdding} onClose={() => setAdding(false)} />
      <ReceiptDialog
        deletion={items.find((one) => one.id === opened?.id) ?? opened}
        onClose={() => setOpened(undefined)}
      />
    </Page>
  );
}
