import type { DestinationView } from "@sluice/protocol";
import { useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import type { MetricsSample } from "../../api/metrics.js";
import { useDestinationStatuses, useDestinations, useInfo, useSources } from "../../api/queries.js";
import { useMetricsHistory } from "../../api/use-metrics-history.js";
import { addresses } from "../../routing/addresses.js";
import { Link } from "../../routing/link.js";
import { ButtonLink } from "../../ui/button.js";
import { EmptyState } from "../../ui/empty-state.js";
import { Failure } from "../../ui/failure.js";
import { Card, Page } from "../../ui/page.js";
import { Skeleton } from "../../ui/skeleton.js";
import { Table } from "../../ui/table.js";
import { Time } from "../../ui/time.js";
import { count } from "../../words/numbers.js";
import { DestinationHealth, DestinationLag } from "../destinations/destination-health.js";
import { FirstMessage } from "../sources/first-message.js";
import { Alerts } from "./alerts.js";
import { Rates } from "./rates.js";

export function OverviewPage() {
  const api = useApi();
  const info = useInfo().data;
  const sources = useSources();
  const destinations = useDestinations();
  const metrics = useMetricsHistory();
  const { statuses, isPending: statusesPending } = useDestinationStatuses(
    (destinations.data ?? []).map((one) => one.id),
  );
  const anyMessage = useQuery({
    queryKey: ["any-message"],
    queryFn: async () => (await api.messages.list({ limit: 1 })).items.length > 0,
    // Once there was a first message there will not be a first one again.
    refetchInterval: ({ state }) => (state.data === true ? false : 1_000),
  });
  const lead = info && (
    <>
      Counted since the collector's start, <Time at={info.startedAt} />.
    </>
  );
  if (anyMessage.isError || sources.isError) {
    return (
      <Page title="Overview">
        <Failure error={anyMessage.error ?? sources.error} onRetry={() => void anyMessage.refetch()} />
      </Page>
    );
  }
  // What needs somebody stands at the top: the page waits for it rather than moving down later.
  if (anyMessage.isPending || sources.isPending || destinations.isPending || statusesPending) {
    return (
      <Page title="Overview" lead={lead}>
        <Card>
          <Skeleton lines={6} />
        </Card>
      </Page>
    );
  }
  if (!anyMessage.data) {
    return (
      <Page title="Overview" lead="Nothing has come yet. This is how it begins.">
        <Card>
          <FirstMessage sources={sources.data} />
        </Card>
      </Page>
    );
  }
  return (
    <Page title="Overview" lead={lead}>
      <Alerts destinations={destinations.data ?? []} statuses={statuses} storage={info?.storage} />
      <Rates samples={metrics.data ?? []} />
      <Card
        title="Destinations"
        note="Oldest first. Behind: messages that wait, now; the rest counts since the collector's start"
        flush
        actions={
          <ButtonLink size="small" icon="plus" href={addresses.catalog()}>
            New destination
          </ButtonLink>
        }
      >
        {destinations.isError ? (
          <Failure error={destinations.error} />
        ) : destinations.data.length === 0 ? (
          <EmptyState
            icon="webhook"
            title="Messages arrive, and go nowhere yet"
            action={
              <ButtonLink look="primary" icon="webhook" href={addresses.connect("webhooks")}>
                Connect a webhook
              </ButtonLink>
            }
          >
            <p>Connect a URL of yours: every message is posted to it, signed, and retried for four hours.</p>
          </EmptyState>
        ) : (
          <DestinationLines destinations={destinations.data} last={metrics.data?.at(-1)} />
        )}
      </Card>
    </Page>
  );
}

function DestinationLines({
  destinations,
  last,
}: {
  destinations: readonly DestinationView[];
  last: MetricsSample | undefined;
}) {
  const countOf = (id: string, state: string) =>
    last === undefined ? "…" : count(last.deliveries.get(id)?.get(state) ?? 0);
  return (
    <Table
      label="Destinations, oldest first"
      items={destinations}
      keyOf={(one) => one.id}
      columns={[
        {
          head: "Name",
          lead: true,
          cell: (one) => (
            <Link className="strong-link" href={addresses.destination(one.id)}>
              {one.name}
            </Link>
          ),
        },
        { head: "State", cell: (one) => <DestinationHealth id={one.id} /> },
        { head: "Behind", align: "end", cell: (one) => <DestinationLag id={one.id} /> },
        { head: "Delivered", align: "end", cell: (one) => countOf(one.id, "delivered") },
        { head: "Filtered", align: "end", cell: (one) => countOf(one.id, "filtered") },
        {
          head: "Failed",
          align: "end",
          cell: (one) => (
            <Link href={addresses.deliveries({ destination: one.id, state: "failed" })}>
              {countOf(one.id, "failed")}
            </Link>
          ),
        },
      ]}
    />
  );
}
