import type { DestinationView } from "@sluice/protocol";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useApi } from "../../api/api-context.js";
import type { Totals } from "../../api/metrics.js";
import {
  useDestinationStatuses,
  useDestinations,
  useInfo,
  useSources,
  useTotals,
} from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Count } from "../../ui/data/count.js";
import { Time } from "../../ui/data/time.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card, Page } from "../../ui/layout/page.js";
import { count } from "../../words/numbers.js";
import { DestinationTable } from "../destinations/destination-table.js";
import { FirstMessage } from "../sources/first-message.js";
import { Alerts } from "./alerts.js";
import { Rates } from "./rates.js";

export function OverviewPage() {
  const api = useApi();
  const info = useInfo();
  const sources = useSources();
  const destinations = useDestinations();
  const totals = useTotals().data;
  const destinationIds = (destinations.data ?? []).map((one) => one.id);
  const { statuses, isPending: statusesPending } = useDestinationStatuses(destinationIds);
  const anyMessage = useQuery({
    queryKey: ["any-message"],
    queryFn: async () => (await api.messages.list({ limit: 1 })).items.length > 0,
    // Once there was a first message there will not be a first one again.
    refetchInterval: ({ state }) => (state.data === true ? false : 1_000),
  });
  const lead = info.data && (
    <>
      Counted since the collector's start, <Time at={info.data.startedAt} />.
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
  if (
    anyMessage.isPending ||
    sources.isPending ||
    destinations.isPending ||
    info.isPending ||
    statusesPending
  ) {
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
      <Alerts destinations={destinations.data ?? []} statuses={statuses} storage={info.data?.storage} />
      <Rates totals={totals} startedAtMs={Date.parse(info.data?.startedAt ?? "")} />
      <Card
        title="Destinations"
        note="Oldest first. Waiting: messages that are still to be sent, now; the rest counts since the collector's start"
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
          <DestinationLines destinations={destinations.data} totals={totals} />
        )}
      </Card>
    </Page>
  );
}

function DestinationLines({
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
          cell: (one) => {
            const failed = countOf(one.id, "failed");
            return failed === undefined || failed === 0 ? (
              <Count value={failed} />
            ) : (
              <Link href={addresses.deliveries({ destination: one.id, state: "failed" })}>
                {count(failed)}
              </Link>
            );
          },
        },
      ]}
    />
  );
}
