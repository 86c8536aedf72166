import type { DeliveryStateView, DeliveryView, DestinationView } from "@sluice/control-api";
import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useDestinations } from "../../api/queries.js";
import { usePagedQuery } from "../../api/use-paged-query.js";
import { addresses } from "../../routing/addresses.js";
import { useAddressQuery } from "../../routing/dashboard-router.js";
import { Button } from "../../ui/controls/button.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { LoadMore } from "../../ui/controls/load-more.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { Failure } from "../../ui/feedback/failure.js";
import { QueryView } from "../../ui/feedback/query-view.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card, Page } from "../../ui/layout/page.js";
import { STATE_ORDER, STATES } from "../../words/states.js";
import { AttemptsDialog } from "./attempts-dialog.js";
import { type DeliveryFilter, filterIn, SINCE } from "./delivery-filter.js";
import { DeliveryTable } from "./delivery-table.js";
import { ReplayDialog } from "./replay-dialog.js";
import { useRetry } from "./use-retry.js";

export function DeliveriesPage() {
  const [, navigate] = useLocation();
  const filter = filterIn(useAddressQuery());
  const destinations = useDestinations().data ?? [];
  const [isReplaying, setReplaying] = useState(false);
  return (
    <Page
      title="Deliveries"
      lead="Failed and pending deliveries, one row per message and destination. Retry one, or replay many."
      actions={
        <Button icon="replay" disabled={destinations.length === 0} onClick={() => setReplaying(true)}>
          Replay messages
        </Button>
      }
    >
      <Card flush>
        <FilterFields
          filter={filter}
          destinations={destinations}
          onChange={(change) => navigate(addresses.deliveries({ ...filter, ...change }), { replace: true })}
        />
        <Deliveries filter={filter} />
      </Card>
      <ReplayDialog
        open={isReplaying}
        destinations={destinations}
        destinationId={filter.destination || undefined}
        onClose={() => setReplaying(false)}
      />
    </Page>
  );
}

function FilterFields({
  filter,
  destinations,
  onChange,
}: {
  filter: DeliveryFilter;
  destinations: readonly DestinationView[];
  onChange: (change: { destination?: string; state?: string; error?: string; since?: string }) => void;
}) {
  return (
    <div className="list-tools">
      <SelectField
        label="Destination"
        hideLabel
        value={filter.destination}
        options={[["", "All destinations"], ...destinations.map((one) => [one.id, one.name] as const)]}
        onChange={(event) => onChange({ destination: event.target.value })}
      />
      <SelectField
        label="State"
        hideLabel
        value={filter.state}
        options={[["", "Failed and pending"], ...STATE_ORDER.map((one) => [one, STATES[one].label] as const)]}
        onChange={(event) => onChange({ state: event.target.value })}
      />
      <SelectField
        label="Since"
        hideLabel
        value={filter.since}
        options={[
          ["", "All time"],
          ...Object.entries(SINCE).map(([key, { label }]) => [key, label] as const),
        ]}
        onChange={(event) => onChange({ since: event.target.value })}
      />
      <ReasonField key={filter.error} value={filter.error} onChange={(error) => onChange({ error })} />
      <p className="small faint list-order">Newest first</p>
    </div>
  );
}

function Deliveries({ filter }: { filter: DeliveryFilter }) {
  const { destination, state, error, since } = filter;
  const api = useApi();
  const retry = useRetry();
  const [opened, setOpened] = useState<DeliveryView | undefined>();
  const deliveries = usePagedQuery({
    queryKey: ["deliveries", destination, state, error, since],
    read: (cursor) =>
      api.deliveries.list({
        destinationId: destination || undefined,
        state: state || undefined,
        error: error || undefined,
        from: since === "" ? undefined : new Date(Date.now() - SINCE[since].ms).toISOString(),
        limit: 50,
        cursor,
      }),
    refetchInterval: 3_000,
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <QueryView query={deliveries} skeleton={<Skeleton lines={6} />} canRetry>
        {(items) =>
          items.length === 0 ? (
            <NoDeliveries state={state} isNarrowed={error !== "" || since !== ""} />
          ) : (
            <DeliveryTable deliveries={items} onRetry={(one) => retry.mutate([one.id])} onOpen={setOpened} />
          )
        }
      </QueryView>
      <LoadMore query={deliveries} />
      {retry.isError && <Failure error={retry.error} />}
      <AttemptsDialog delivery={opened} onClose={() => setOpened(undefined)} />
    </>
  );
}

function NoDeliveries({ state, isNarrowed }: { state: DeliveryStateView | ""; isNarrowed: boolean }) {
  const all = state === "" ? "No failed or pending deliveries" : "No deliveries in this state";
  return (
    <EmptyState icon="check" title={isNarrowed ? "No deliveries match" : all}>
      <p>
        {state === ""
          ? "Failed deliveries stay here with all attempts until you replay them."
          : STATES[state].meaning}
      </p>
    </EmptyState>
  );
}

/** Filters by a part of the reason. Applied on Enter or when the field loses focus. */
function ReasonField({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const [text, setText] = useState(value);
  const apply = () => {
    if (text.trim() !== value) onChange(text.trim());
  };
  return (
    <TextField
      label="Reason contains"
      hideLabel
      type="search"
      placeholder="Reason contains"
      value={text}
      onChange={(event) => setText(event.target.value)}
      onBlur={apply}
      onKeyDown={(event) => {
        if (event.key === "Enter") apply();
      }}
    />
  );
}
