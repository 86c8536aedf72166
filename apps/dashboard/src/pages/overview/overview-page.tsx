import type { DestinationView, RateSpan, SourceView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { useApi, useDestinations, useHealth, useInfo, useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Time } from "../../ui/data/facts.js";
import { Table } from "../../ui/data/table.js";
import { Failure, Skeleton } from "../../ui/feedback.js";
import { Icon } from "../../ui/icon.js";
import { Card, Page } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { counted } from "../../words/numbers.js";
import { DestinationTable, worstFirst } from "../destinations/destination-table.js";
import { NoDestinations } from "../destinations/destinations-page.js";
import { firstSpan, SpanChoice } from "../rates.js";
import { FirstMessage } from "../sources/snippets.js";
import type { Problem } from "./problems.js";
import { useCurrentProblems } from "./problems.js";
import { RateCharts, Tiles } from "./rates.js";

/** Destinations of a problem that are named. */
const NAMED = 3;

/** What is wrong, one row a cause. Nothing if there is nothing. */
function ProblemList({ problems }: { problems: readonly Problem[] }) {
  if (problems.length === 0) return null;
  return (
    <Card title={counted(problems.length, "problem")} note="By cause, the worst first" flush>
      <Table
        label="Problems, the worst first"
        items={problems}
        keyOf={({ key }) => key}
        columns={[
          { head: "Problem", lead: true, cell: ProblemText },
          { head: "Where", cell: Where },
          { head: "Since", align: "end", cell: When },
        ]}
      />
    </Card>
  );
}

/** When it began, or when it last happened. */
function When({ since, lastAt }: Problem) {
  if (since !== undefined) return <Time at={since} />;
  return lastAt === undefined ? (
    "–"
  ) : (
    <>
      last <Time at={lastAt} />
    </>
  );
}

function ProblemText({ tone, title, advice }: Problem) {
  return (
    <div className={`problem tone-${tone}`}>
      <Icon name="alert" />
      <div>
        <strong>{visibleText(title, 160)}</strong>
        {advice && <p className="small soft">{visibleText(advice, 300)}</p>}
      </div>
    </div>
  );
}

function Where({ destinations, more }: Problem) {
  if (more !== undefined)
    return (
      <ButtonLink size="small" href={addresses[more]()}>
        {more === "warnings" ? "Warnings" : "Settings"}
      </ButtonLink>
    );
  if (destinations.length === 0) return <>Collector</>;
  const others = destinations.slice(NAMED);
  return (
    <span>
      {destinations.slice(0, NAMED).map(({ id, name }) => (
        <Link key={id} className="list-link" href={addresses.destination(id)}>
          {visibleText(name, 60)}
        </Link>
      ))}
      {others.length > 0 && (
        <span className="soft" title={others.map(({ name }) => name).join("\n")}>
          {" "}
          and <Link href={addresses.destinations()}>{others.length} more</Link>
        </span>
      )}
    </span>
  );
}

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
