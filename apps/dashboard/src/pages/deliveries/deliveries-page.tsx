import type { DeliveryStateView, DeliveryView } from "@sluice/protocol";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useDestinations } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { useAddressQuery } from "../../routing/dashboard-router.js";
import { Button } from "../../ui/controls/button.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card, Page } from "../../ui/layout/page.js";
import { STATE_ORDER, STATES } from "../../words/states.js";
import { AttemptsDialog } from "./attempts-dialog.js";
import { DeliveryTable } from "./delivery-table.js";
import { ReplayDialog } from "./replay-dialog.js";
import { useRetry } from "./use-retry.js";

const PAGE = 50;

const SINCE = {
  "15m": { label: "Last 15 minutes", ms: 900_000 },
  "1h": { label: "Last hour", ms: 3_600_000 },
  "24h": { label: "Last 24 hours", ms: 86_400_000 },
  "7d": { label: "Last 7 days", ms: 604_800_000 },
} as const;

function sinceOf(text: string | null): keyof typeof SINCE | "" {
  return text !== null && Object.hasOwn(SINCE, text) ? (text as keyof typeof SINCE) : "";
}

export function DeliveriesPage() {
  const api = useApi();
  const [, navigate] = useLocation();
  const query = useAddressQuery();
  const destinations = useDestinations().data ?? [];
  const retry = useRetry();
  const [opened, setOpened] = useState<DeliveryView | undefined>();
  const [isReplaying, setReplaying] = useState(false);
  const destination = query.get("destination") ?? "";
  const state = (query.get("state") ?? "") as DeliveryStateView | "";
  const error = query.get("error") ?? "";
  const since = sinceOf(query.get("since"));
  const deliveries = useInfiniteQuery({
    queryKey: ["deliveries", destination, state, error, since],
    queryFn: ({ pageParam }) =>
      api.deliveries.list({
        destinationId: destination || undefined,
        state: state || undefined,
        error: error || undefined,
        from: since === "" ? undefined : new Date(Date.now() - SINCE[since].ms).toISOString(),
        limit: PAGE,
        cursor: pageParam,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: 3_000,
    placeholderData: keepPreviousData,
  });
  const choose = (change: { destination?: string; state?: string; error?: string; since?: string }) =>
    navigate(addresses.deliveries({ destination, state, error, since, ...change }), { replace: true });
  const items = deliveries.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Page
      title="Deliveries"
      lead="What failed or still waits, one line for each message and destination. Retry one, or replay many."
      actions={
        <Button icon="replay" disabled={destinations.length === 0} onClick={() => setReplaying(true)}>
          Replay messages
        </Button>
      }
    >
      <Card flush>
        <div className="list-tools">
          <SelectField
            label="Destination"
            hideLabel
            value={destination}
            options={[["", "Every destination"], ...destinations.map((one) => [one.id, one.name] as const)]}
            onChange={(event) => choose({ destination: event.target.value })}
          />
          <SelectField
            label="State"
            hideLabel
            value={state}
            options={[
              ["", "Failed and pending"],
              ...STATE_ORDER.map((one) => [one, STATES[one].label] as const),
            ]}
            onChange={(event) => choose({ state: event.target.value })}
          />
          <SelectField
            label="Since"
            hideLabel
            value={since}
            options={[
              ["", "At any time"],
              ...Object.entries(SINCE).map(([key, { label }]) => [key, label] as const),
            ]}
            onChange={(event) => choose({ since: event.target.value })}
          />
          <ReasonField key={error} value={error} onChange={(next) => choose({ error: next })} />
          <p className="small faint list-order">Newest first</p>
        </div>
        {deliveries.isError ? (
          <Failure error={deliveries.error} onRetry={() => void deliveries.refetch()} />
        ) : deliveries.isPending ? (
          <Skeleton lines={6} />
        ) : items.length === 0 ? (
          <EmptyState icon="check" title={emptyTitle(state, error !== "" || since !== "")}>
            <p>
              {state === ""
                ? "Failed deliveries stay here with all their attempts until you replay them."
                : STATES[state].meaning}
            </p>
          </EmptyState>
        ) : (
          <DeliveryTable deliveries={items} onRetry={(one) => retry.mutate([one.id])} onOpen={setOpened} />
        )}
        {deliveries.hasNextPage && (
          <div className="list-more">
            <Button busy={deliveries.isFetchingNextPage} onClick={() => void deliveries.fetchNextPage()}>
              Show more
            </Button>
          </div>
        )}
      </Card>
      {retry.isError && <Failure error={retry.error} />}
      <AttemptsDialog delivery={opened} onClose={() => setOpened(undefined)} />
      <ReplayDialog
        open={isReplaying}
        destinations={destinations}
        destinationId={destination || undefined}
        onClose={() => setReplaying(false)}
      />
    </Page>
  );
}

function emptyTitle(state: DeliveryStateView | "", isNarrowed: boolean): string {
  if (isNarrowed) return "No delivery fits";
  return state === "" ? "Nothing failed, nothing waits" : "No delivery in this state";
}

/** Part of the reason, applied with Enter or on leaving the field. */
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
