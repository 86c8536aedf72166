import type { ComputedTraitView } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/api-context.js";
import { useComputedTraits, useNames } from "../../api/queries.js";
import { Button, IconButton } from "../../ui/button.js";
import { Confirm } from "../../ui/confirm.js";
import { EmptyState } from "../../ui/empty-state.js";
import { Failure } from "../../ui/failure.js";
import { Card, Page } from "../../ui/page.js";
import { Skeleton } from "../../ui/skeleton.js";
import { Table } from "../../ui/table.js";
import { SyncBadge } from "../audiences/sync-status.js";
import { NewTrait } from "./new-trait.js";
import { traitInWords } from "./trait-words.js";

export function ComputedTraitsPage() {
  const api = useApi();
  const queries = useQueryClient();
  const names = useNames();
  const traits = useComputedTraits();
  const [isAdding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<ComputedTraitView | undefined>();
  const remove = useMutation({
    mutationFn: (id: string) => api.computedTraits.delete(id),
    onSuccess: () => setLeaving(undefined),
    onSettled: () => queries.invalidateQueries({ queryKey: ["computed-traits"] }),
  });
  const add = (
    <Button look="primary" icon="plus" onClick={() => setAdding(true)}>
      New computed trait
    </Button>
  );
  return (
    <Page
      title="Computed traits"
      lead="Values worked out of each user's events, sent as traits the moment they change."
      actions={add}
    >
      {traits.isError ? (
        <Failure error={traits.error} onRetry={() => void traits.refetch()} />
      ) : (
        <Card flush>
          {traits.isPending ? (
            <Skeleton />
          ) : traits.data.length === 0 ? (
            <EmptyState icon="traits" title="No computed trait yet" action={add}>
              <p>For example: the sum of “total” over “Order Completed”, as the trait lifetime_value.</p>
            </EmptyState>
          ) : (
            <Table
              label="Computed traits, oldest first"
              items={traits.data}
              keyOf={(one) => one.id}
              columns={[
                { head: "Name", lead: true, cell: (one) => <strong>{one.name}</strong> },
                { head: "Trait", cell: (one) => <code>{one.key}</code> },
                { head: "Value", cell: traitInWords },
                { head: "State", cell: (one) => <SyncBadge status={one.status} /> },
                {
                  head: "Sent to",
                  cell: (one) => one.destinationIds.map(names.destination).join(", ") || "Nowhere",
                },
                {
                  head: "Delete",
                  align: "end",
                  cell: (one) => (
                    <IconButton
                      icon="deletions"
                      label={`Delete ${one.name}`}
                      onClick={() => setLeaving(one)}
                    />
                  ),
                },
              ]}
            />
          )}
        </Card>
      )}
      <NewTrait open={isAdding} onClose={() => setAdding(false)} />
      <Confirm
        open={leaving !== undefined}
        title={`Delete ${leaving?.name ?? "this trait"}?`}
        action="Delete computed trait"
        busy={remove.isPending}
        error={remove.error}
        onClose={() => setLeaving(undefined)}
        onConfirm={() => leaving && remove.mutate(leaving.id)}
      >
        It is worked out no more. What destinations were told stays with them.
      </Confirm>
    </Page>
  );
}
