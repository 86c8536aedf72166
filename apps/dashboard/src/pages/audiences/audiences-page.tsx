import { Link } from "wouter";
import { useAudiences, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Table } from "../../ui/data/table.js";
import { Time } from "../../ui/data/time.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card, Page } from "../../ui/layout/page.js";
import { count } from "../../words/numbers.js";
import { SyncBadge } from "../definitions/sync-status.js";
import { SkippedMessagesNotice } from "./skipped-messages-notice.js";

export function AudiencesPage() {
  const audiences = useAudiences();
  const names = useNames();
  const add = (look: "primary" | "plain") => (
    <ButtonLink look={look} icon="plus" href={addresses.newAudience()}>
      New audience
    </ButtonLink>
  );
  return (
    <Page
      title="Audiences"
      lead="Users who meet conditions now. Destinations are told within a second of a change."
      actions={add(audiences.data?.length === 0 ? "plain" : "primary")}
    >
      <SkippedMessagesNotice />
      {audiences.isError ? (
        <Failure error={audiences.error} onRetry={() => void audiences.refetch()} />
      ) : (
        <Card flush>
          {audiences.isPending ? (
            <Skeleton />
          ) : audiences.data.length === 0 ? (
            <EmptyState icon="audiences" title="No audience yet" action={add("primary")}>
              <p>
                For example: users on the pro plan who ordered at least three times within the last 30 days.
                You see who is in while you build it.
              </p>
            </EmptyState>
          ) : (
            <Table
              label="Audiences, oldest first"
              items={audiences.data}
              keyOf={(one) => one.id}
              columns={[
                {
                  head: "Name",
                  lead: true,
                  cell: (one) => (
                    <Link className="strong-link" href={addresses.audience(one.id)}>
                      {one.name}
                    </Link>
                  ),
                },
                { head: "Trait", cell: (one) => <code>{one.key}</code> },
                { head: "State", cell: (one) => <SyncBadge status={one.status} /> },
                { head: "Members", align: "end", cell: (one) => count(one.size) },
                {
                  head: "Sent to",
                  cell: (one) => one.destinationIds.map(names.destination).join(", ") || "Nowhere",
                },
                { head: "Made", align: "end", cell: (one) => <Time at={one.createdAt} /> },
              ]}
            />
          )}
        </Card>
      )}
    </Page>
  );
}
