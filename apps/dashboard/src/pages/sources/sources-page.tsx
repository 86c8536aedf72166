import type { SourceView } from "@sluice/control-api";
import { useState } from "react";
import { Link } from "wouter";
import { useActivity, useDestinations, useHealth, useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { Badge } from "../../ui/data/badge.js";
import { Table } from "../../ui/data/table.js";
import { LastAt } from "../../ui/data/time.js";
import { EmptyState } from "../../ui/feedback.js";
import { ListCard } from "../../ui/layout/list-card.js";
import { Page } from "../../ui/layout/page.js";
import { count, rateText } from "../../words/numbers.js";
import { healthWords, needsAttention } from "../../words/states.js";
import { visibleText } from "../../words/visible-text.js";
import { HealthBadge } from "../destinations/health/destination-health.js";
import { NewSource } from "./new-source.js";
import { SOURCE_KINDS } from "./source-kinds.js";

export function SourcesPage() {
  const sources = useSources();
  const [isAdding, setAdding] = useState(false);
  const add = (look: "primary" | "plain") => (
    <Button look={look} icon="plus" onClick={() => setAdding(true)}>
      New source
    </Button>
  );
  return (
    <Page
      title="Sources"
      lead="Where messages come from. Each source has its own write keys and destinations."
      actions={add(sources.data?.length === 0 ? "plain" : "primary")}
    >
      <ListCard
        query={sources}
        empty={
          <EmptyState icon="sources" title="No sources yet" action={add("primary")}>
            <p>A source is a server, a website or an app that sends messages. You get a write key for it.</p>
          </EmptyState>
        }
      >
        {(items) => <SourceTable sources={items} />}
      </ListCard>
      <NewSource open={isAdding} onClose={() => setAdding(false)} />
    </Page>
  );
}

function SourceTable({ sources }: { sources: readonly SourceView[] }) {
  const health = useHealth().data;
  const activity = useActivity().data;
  const destinations = useDestinations().data ?? [];
  const illIds = new Set(
    health?.destinations.filter((one) => needsAttention(one.health)).map((one) => one.destinationId),
  );
  const activityOf = (id: string) => activity?.sources.find(({ sourceId }) => sourceId === id);
  return (
    <Table
      label="Sources, oldest first"
      oneLine
      items={sources}
      keyOf={(source) => source.id}
      columns={[
        {
          head: "Name",
          lead: true,
          cell: (source) => (
            <Link className="strong-link" href={addresses.source(source.id)} title={source.name}>
              {source.name}
            </Link>
          ),
        },
        { head: "Kind", fit: true, cell: (source) => SOURCE_KINDS[source.kind].label },
        {
          head: "Destinations",
          fit: true,
          cell: ({ id }) => {
            const found = health?.sources.find(({ sourceId }) => sourceId === id);
            if (found === undefined) return "…";
            const connected = destinations.filter(({ sourceIds }) => sourceIds.includes(id));
            if (connected.length === 0) return <span className="faint">None</span>;
            const ill = connected.filter((one) => illIds.has(one.id)).length;
            return (
              <>
                {connected.length}{" "}
                {ill > 0 && connected.length > 1 ? (
                  <Badge tone={healthWords(found.health).tone} title={visibleText(found.reason)}>
                    {ill} need{ill === 1 ? "s" : ""} attention
                  </Badge>
                ) : (
                  <HealthBadge of={found} />
                )}
              </>
            );
          },
        },
        {
          head: "Rate",
          align: "end",
          cell: ({ id }) => rateText(activityOf(id)?.accepted, activity?.overMs),
        },
        {
          head: "Last hour",
          align: "end",
          cell: ({ id }) => (activity === undefined ? "…" : count(activityOf(id)?.accepted ?? 0)),
        },
        {
          head: "Last message",
          align: "end",
          cell: ({ id }) => (activity === undefined ? "…" : <LastAt at={activityOf(id)?.lastMessageAt} />),
        },
      ]}
    />
  );
}
