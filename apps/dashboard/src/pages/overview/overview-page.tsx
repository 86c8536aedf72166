import type { DestinationView, SourceView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/api-context.js";
import type { Totals } from "../../api/metrics.js";
import { useDestinations, useHealth, useInfo, useSources, useTotals } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Count } from "../../ui/data/count.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { QueryView } from "../../ui/feedback/query-view.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card, Page } from "../../ui/layout/page.js";
import { count } from "../../words/numbers.js";
import { DestinationTable } from "../destinations/destination-table.js";
import { NoDestinations } from "../destinations/no-destinations.js";
import { FirstMessage } from "../sources/snippets/first-message.js";
import { Alerts } from "./alerts.js";
import { Rates } from "./rates.js";

export function OverviewPage() {
  const info = useInfo();
  const sources = useSources();
  const destinations = useDestinations();
  const health = useHealth();
  const anyMessage = useAnyMessage();
  if (anyMessage.isError || sources.isError) {
    return (
      <Page title="Overview">
        <Failure error={anyMessage.error ?? sources.error} onRetry={() => void anyMessage.refetch()} />
      </Page>
    );
  }
  // Wait for everything: alerts above the charts would move those down later.
  const isLoading = [anyMessage, sources, destinations, info, health].some((query) => query.isPending);
  if (anyMessage.data === false && !isLoading) return <NoMessages sources={sources.data ?? []} />;
  return (
    <Page title="Overview" lead={info.data && <CountedSince startedAt={info.data.startedAt} />}>
      {isLoading ? (
        <Card>
          <Skeleton lines={6} />
        </Card>
      ) : (
        <RatesAndDestinations
          startedAtMs={Date.parse(info.data?.startedAt ?? "")}
          alerts={
            <Alerts
              destinations={destinations.data ?? []}
              statuses={health.data?.destinations ?? []}
              storage={info.data?.storage}
            />
          }
        />
      )}
    </Page>
  );
}

/** Whether the collector has any message. Asks until the first one arrives. */
function useAnyMessage() {
  const api = useApi();
  return useQuery({
    queryKey: ["any-message"],
    queryFn: async () => (await api.messages.list({ limit: 1 })).items.length > 0,
    refetchInterval: ({ state }) => (state.data === true ? false : 1_000),
  });
}

function CountedSince({ startedAt }: { startedAt: string }) {
  return (
    <>
      Counts since the collector started, <Time at={startedAt} />.
    </>
  );
}

function NoMessages({ sources }: { sources: readonly SourceView[] }) {
  return (
    <Page title="Overview" lead="No messages yet. Send the first one.">
      <Card>
        <FirstMessage sources={sources} />
      </Card>
    </Page>
  );
}

function RatesAndDestinations({ startedAtMs, alerts }: { startedAtMs: number; alerts: ReactNode }) {
  const totals = useTotals().data;
  return (
    <>
      <Rates totals={totals} startedAtMs={startedAtMs} alerts={alerts} />
      <Card
        title="Destinations"
        note="Oldest first. Backlog: messages still to be sent. The other columns count since the collector started"
        flush
        actions={
          <ButtonLink size="small" icon="plus" href={addresses.catalog()}>
            New destination
          </ButtonLink>
        }
      >
        <QueryView query={useDestinations()}>
          {(items) =>
            items.length === 0 ? (
              <NoDestinations />
            ) : (
              <DestinationCounts destinations={items} totals={totals} />
            )
          }
        </QueryView>
      </Card>
    </>
  );
}

function DestinationCounts({
  destinations,
  totals,
}: {
  destinations: readonly DestinationView[];
  totals: Totals | undefined;
}) {
  const countOf = (id: string, state: string) => totals && (totals.deliveries.get(id)?.get(state) ?? 0);
  return (
    <DestinationTable
      destinations={destinations}
      more={[
        { head: "Delivered", align: "end", cell: (one) => <Count value={countOf(one.id, "delivered")} /> },
        { head: "Filtered", align: "end", cell: (one) => <Count value={countOf(one.id, "filtered")} /> },
        {
          head: "Failed",
          align: "end",
          cell: (one) => <FailedCount destinationId={one.id} failed={countOf(one.id, "failed")} />,
        },
      ]}
    />
  );
}

function FailedCount({ destinationId, failed }: { destinationId: string; failed: number | undefined }) {
  if (failed === undefined || failed === 0) return <Count value={failed} />;
  return (
    <Link href={addresses.deliveries({ destination: destinationId, state: "failed" })}>{count(failed)}</Link>
  );
}
