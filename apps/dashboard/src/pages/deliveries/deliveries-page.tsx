import {
  type DeliveryGroupView,
  type DeliveryStateView,
  type DeliveryView,
  type DestinationView,
  describeCause,
} from "@sluice/control-api";
import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { useApi, useDestinations, usePagedQuery } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { useAddressQuery } from "../../routing/dashboard-router.js";
import { Button, LoadMore } from "../../ui/controls/button.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { EmptyState, Failure, QueryView, Skeleton } from "../../ui/feedback.js";
import { Card, Page } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { STATE_ORDER, STATES } from "../../words/states.js";
import { AttemptsDialog } from "./attempts.js";
import { type DeliveryFilter, DeliveryList, filterIn, SINCE } from "./delivery-list.js";
import { GroupDetails, GroupsCard, isChosen, useDeliveryGroups } from "./groups-card.js";
import { OperationsCard, useRecentOperations } from "./operations-card.js";
import { ReplayDialog } from "./replay/replay-dialog.js";
import { useRetry } from "./retry-button.js";

export function DeliveriesPage() {
  const filter = filterIn(useAddressQuery());
  const destinations = useDestinations().data ?? [];
  const [isReplaying, setReplaying] = useState(false);
  return (
    <Page
      title="Deliveries"
      wide
      lead="Failed and pending deliveries by cause. Choose a cause, fix it, then retry all of its messages."
      actions={
        <Button icon="replay" disabled={destinations.length === 0} onClick={() => setReplaying(true)}>
          Replay messages
        </Button>
      }
    >
      <Sections filter={filter} destinations={destinations} />
      <ReplayDialog
        open={isReplaying}
        destinations={destinations}
        destinationId={filter.destination || undefined}
        onClose={() => setReplaying(false)}
      />
    </Page>
  );
}

/** The sections above the list are loaded first: the list must not move when they arrive. */
function Sections({
  filter,
  destinations,
}: {
  filter: DeliveryFilter;
  destinations: readonly DestinationView[];
}) {
  const [, navigate] = useLocation();
  const groups = useDeliveryGroups();
  const operations = useRecentOperations();
  if (groups.isPending || operations.isPending)
    return (
      <Card>
        <Skeleton lines={8} />
      </Card>
    );
  return (
    <>
      <OperationsCard />
      <GroupsCard chosen={filter} />
      <Card flush>
        <FilterFields
          filter={filter}
          destinations={destinations}
          onChange={(change) => {
            const cause = change.destination === undefined ? filter.cause : "";
            navigate(addresses.deliveries({ ...filter, cause, ...change }), { replace: true });
          }}
        />
        <Deliveries filter={filter} />
      </Card>
    </>
  );
}

function FilterFields({
  filter,
  destinations,
  onChange,
}: {
  filter: DeliveryFilter;
  destinations: readonly DestinationView[];
  onChange: (change: {
    destination?: string;
    state?: string;
    error?: string;
    since?: string;
    cause?: string;
  }) => void;
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
      {filter.cause !== "" && (
        <Button size="small" icon="close" onClick={() => onChange({ cause: "" })}>
          {visibleText(describeCause(filter.cause).title, 40)}
          <span className="visually-hidden">: show all causes</span>
        </Button>
      )}
      <p className="small faint list-order">Newest first</p>
    </div>
  );
}

function Deliveries({ filter }: { filter: DeliveryFilter }) {
  const { destination, state, error, since, cause } = filter;
  const api = useApi();
  const retry = useRetry();
  const groups = useDeliveryGroups().data?.items ?? [];
  const group = groups.find((one) => isChosen(one, filter));
  const [opened, setOpened] = useState<DeliveryView | undefined>();
  const deliveries = usePagedQuery({
    queryKey: ["deliveries", destination, state, error, since, cause],
    read: (cursor) =>
      api.deliveries.list({
        destinationId: destination || undefined,
        state: state || undefined,
        error: error || undefined,
        cause: cause || undefined,
        from: since === "" ? undefined : new Date(Date.now() - SINCE[since].ms).toISOString(),
        limit: 50,
        cursor,
      }),
    refetchInterval: 3_000,
    placeholderData: keepPreviousData,
  });
  return (
    <>
      {group !== undefined && <GroupDetails group={group} />}
      <QueryView query={deliveries} skeleton={<Skeleton lines={6} />} canRetry>
        {(items) => (
          <DeliveryList
            key={deliveries.isPlaceholderData ? "before" : JSON.stringify(filter)}
            deliveries={items}
            filter={filter}
            total={deliveries.hasNextPage ? totalOf(groups, filter) : items.length}
            empty={<NoDeliveries state={state} isNarrowed={error !== "" || since !== "" || cause !== ""} />}
            onRetry={(one) => retry.mutate([one.id])}
            onOpen={setOpened}
          />
        )}
      </QueryView>
      <LoadMore query={deliveries} />
      {retry.isError && <Failure error={retry.error} />}
      <AttemptsDialog delivery={opened} onClose={() => setOpened(undefined)} />
    </>
  );
}

/** Number of deliveries that match the filter, from the groups. Undefined if they do not tell. */
function totalOf(groups: readonly DeliveryGroupView[], filter: DeliveryFilter): number | undefined {
  const { destination, state, cause, error, since } = filter;
  if (error !== "" || since !== "") return undefined;
  if (state !== "" && state !== "failed" && state !== "pending") return undefined;
  return groups
    .filter((group) => (destination || group.destinationId) === group.destinationId)
    .filter((group) => (cause || group.cause) === group.cause)
    .reduce(
      (sum, { failed, pending }) =>
        sum + (state === "pending" ? 0 : failed) + (state === "failed" ? 0 : pending),
      0,
    );
}

function NoDeliveries({ state, isNarrowed }: { state: DeliveryStateView | ""; isNarrowed: boolean }) {
  const all = state === "" ? "No failed or pending deliveries" : "No deliveries in this state";
  return (
    <EmptyState icon="check" title={isNarrowed ? "No deliveries match" : all}>
      <p>
        {state === ""
          ? "Failed deliveries stay here, with all attempts, until you retry or discard them."
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
