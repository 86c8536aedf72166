import { useState } from "react";
import { Link } from "wouter";
import { useComputedTraits, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { Table } from "../../ui/data/table.js";
import { Time } from "../../ui/data/time.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card, Page } from "../../ui/layout/page.js";
import { SyncBadge } from "../definitions/sync-status.js";
import { TraitDialog } from "./trait-dialog.js";
import { traitInWords } from "./trait-words.js";

export function ComputedTraitsPage() {
  const names = useNames();
  const traits = useComputedTraits();
  const [isAdding, setAdding] = useState(false);
  const add = (look: "primary" | "plain") => (
    <Button look={look} icon="plus" onClick={() => setAdding(true)}>
      New computed trait
    </Button>
  );
  return (
    <Page
      title="Computed traits"
      lead="Values worked out of each user's events, sent as traits the moment they change."
      actions={add(traits.data?.length === 0 ? "plain" : "primary")}
    >
      {traits.isError ? (
        <Failure error={traits.error} onRetry={() => void traits.refetch()} />
      ) : (
        <Card flush>
          {traits.isPending ? (
            <Skeleton />
          ) : traits.data.length === 0 ? (
            <EmptyState icon="traits" title="No computed trait yet" action={add("primary")}>
              <p>For example: the sum of “total” over “Order Completed”, as the trait lifetime_value.</p>
            </EmptyState>
          ) : (
            <Table
              label="Computed traits, oldest first"
              items={traits.data}
              keyOf={(one) => one.id}
              columns={[
                {
                  head: "Name",
                  lead: true,
                  cell: (one) => (
                    <Link className="strong-link" href={addresses.computedTrait(one.id)}>
                      {one.name}
                    </Link>
                  ),
                },
                { head: "Trait", cell: (one) => <code>{one.key}</code> },
                { head: "Value", cell: traitInWords },
                { head: "State", cell: (one) => <SyncBadge status={one.status} /> },
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
      <TraitDialog open={isAdding} onClose={() => setAdding(false)} />
    </Page>
  );
}
