import type { DestinationView, RateSpan, SourceView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/api-context.js";
import { useDestinations, useHealth, useInfo, useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card, Page } from "../../ui/layout/page.js";
import { counted } from "../../words/numbers.js";
import { DestinationTable, worstFirst } from "../destinations/destination-table.js";
import { NoDestinations } from "../destinations/no-destinations.js";
import { SpanChoice } from "../rates/rate-chart.js";
import { firstSpan } from "../rates/spans.js";
import { FirstMessage } from "../sources/snippets/first-message.js";
import { ProblemList } from "./problem-list.js";
import type { Problem } from "./problems.js";
import { RateCharts, Tiles } from "./rates.js";
import { useCurrentProblems } from "./use-current-problems.js";

export function OverviewPage() {
  const info = useInfo();
  const sources = useSources();
  const destinations = useDestinations();
  const health = useHealth();
  const problems = useCurrentProblems();
  const anyMessage = useAnyMessage();
  if (anyMessage.isError || sources.isError) {
    const isTold = problems.found.some(({ key }) => key === "storage");
    return (
      <Page title="Overview">
        <ProblemList problems={problems.found} />
        {isTold ? (
          <p className="soft">Everything else is shown again once the collector can use its disk.</p>
        ) : (
          <Failure error={anyMessage.error ?? sources.error} onRetry={() => void anyMessage.refetch()} />
        )}
      </Page>
    );
  }
  // Wait for everything: problems above the charts would move those down later.
  const isLoading = [anyMessage, sources, destinations, info, health, problems].some((one) => one.isPending);
  if (isLoading)
    return (
      <Page title="Overview">
        <Card>
          <Skeleton lines={6} />
        </Card>
      </Page>
    );
  if (anyMessage.data === false)
    return (
      <Page title="Overview" lead="No messages yet. Send the first one.">
        <ProblemList problems={problems.found} />
        <NoMessages sources={sources.data ?? []} />
      </Page>
    );
  return (
    <Loaded
      startedAt={info.data?.startedAt}
      problems={problems.found}
      destinations={destinations.data ?? []}
    />
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

function NoMessages({ sources }: { sources: readonly SourceView[] }) {
  return (
    <Card>
      <FirstMessage sources={sources} />
    </Card>
  );
}

function Loaded({
  startedAt = "",
  problems,
  destinations,
}: {
  startedAt: string | undefined;
  problems: readonly Problem[];
  destinations: readonly DestinationView[];
}) {
  const [span, setSpan] = useState<RateSpan>(() => firstSpan(Date.parse(startedAt), Date.now()));
  return (
    <Page title="Overview" actions={<SpanChoice span={span} onSpan={setSpan} />}>
      <Tiles span={span} />
      <ProblemList problems={problems} />
      <RateCharts span={span} />
      <WorstDestinations destinations={destinations} />
    </Page>
  );
}

/** Destinations that are shown. All of them are on their own page. */
const SHOWN = 8;

function WorstDestinations({ destinations }: { destinations: readonly DestinationView[] }) {
  const statuses = useHealth().data?.destinations ?? [];
  return (
    <Card
      title="Destinations"
      note="The worst first. Rate and success are of the last hour"
      flush
      actions={
        <ButtonLink
          size="small"
          href={destinations.length === 0 ? addresses.catalog() : addresses.destinations()}
        >
          {destinations.length === 0
            ? "Open the catalog"
            : `All ${counted(destinations.length, "destination")}`}
        </ButtonLink>
      }
    >
      {destinations.length === 0 ? (
        <NoDestinations />
      ) : (
        <DestinationTable destinations={worstFirst(destinations, statuses).slice(0, SHOWN)} />
      )}
    </Card>
  );
}
