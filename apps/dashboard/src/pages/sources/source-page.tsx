import type { SourceView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { useApi, useDestinations, useHealth } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button, ButtonLink } from "../../ui/controls/button.js";
import { Badge } from "../../ui/data/facts.js";
import { Table } from "../../ui/data/table.js";
import { QueryView, Skeleton } from "../../ui/feedback.js";
import { Card, DeleteCard, Page, ResourcePage } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { count } from "../../words/numbers.js";
import { worstFirst } from "../destinations/destination-table.js";
import { DestinationHealth } from "../destinations/health/destination-health.js";
import { BlockedEvents } from "./blocked-events.js";
import { PlanCard } from "./plan-card.js";
import { newestKey, SnippetTabs } from "./snippets.js";
import { SOURCE_KINDS } from "./source-link.js";
import { SourceSettings } from "./source-settings.js";
import { WriteKeys } from "./write-keys.js";

/** How often the page checks whether someone else changed the source. */
const CHANGES_MS = 5_000;

const UP = { href: addresses.sources(), label: "Sources" };

export function SourcePage({ id }: { id: string }) {
  const api = useApi();
  const source = useQuery({
    queryKey: ["sources", id],
    queryFn: () => api.sources.get(id),
    refetchInterval: CHANGES_MS,
  });
  return (
    <ResourcePage kind="Source" up={UP} query={source}>
      {(found) => <SourceBody source={found} />}
    </ResourcePage>
  );
}

function SourceBody({ source }: { source: SourceView }) {
  const api = useApi();
  const { id, name, kind } = source;
  const usage = useUsage(id);
  const isNew = usage.data?.days.length === 0;
  const snippets = (
    <Card title="Send messages" note="The snippets contain the newest write key of this source">
      <SnippetTabs writeKey={newestKey(source)} />
    </Card>
  );
  return (
    <Page
      title={name}
      up={UP}
      badge={<Badge tone="quiet">{SOURCE_KINDS[kind].label}</Badge>}
      actions={
        <>
          <ButtonLink href={addresses.sourceEvents(id)}>Events</ButtonLink>
          <ButtonLink icon="live" href={addresses.live(`source:${id}`)}>
            View messages
          </ButtonLink>
        </>
      }
    >
      {isNew && snippets}
      <div className="two-columns">
        <div className="stack">
          <UsageCard usage={usage} />
          <WriteKeys source={source} />
        </div>
        <ConnectedDestinations sourceId={id} />
      </div>
      {!isNew && snippets}
      <PlanCard source={source} />
      <BlockedEvents source={source} />
      <SourceSettings source={source} />
      <DeleteCard
        text="The write keys stop working immediately. Messages of this source stay until their retention ends."
        name={name}
        action="Delete source"
        remove={() => api.sources.delete(id)}
        resource="sources"
        then={addresses.sources()}
      />
    </Page>
  );
}

/** Destinations that are shown before the others are asked for. */
const SHOWN_DESTINATIONS = 8;

function ConnectedDestinations({ sourceId }: { sourceId: string }) {
  const connected = useDestinations().data?.filter((one) => one.sourceIds.includes(sourceId));
  const all = useHealth().data;
  const [isWhole, setWhole] = useState(false);
  const health = all?.sources.find((one) => one.sourceId === sourceId);
  const destinations = connected && worstFirst(connected, all?.destinations ?? []);
  const hidden = isWhole ? 0 : Math.max(0, (destinations?.length ?? 0) - SHOWN_DESTINATIONS);
  return (
    <Card
      title="Destinations"
      note={
        health === undefined
          ? "They get all messages of this source"
          : visibleText(health.reason.split(":")[0] ?? "")
      }
    >
      {destinations === undefined ? (
        <Skeleton lines={2} />
      ) : destinations.length === 0 ? (
        <div className="stack-tight">
          <p className="soft">None. Messages are stored but not sent.</p>
          <div>
            <ButtonLink size="small" icon="webhook" href={addresses.connect("webhooks")}>
              Connect a webhook
            </ButtonLink>
          </div>
        </div>
      ) : (
        <>
          <ul className="lines">
            {destinations.slice(0, destinations.length - hidden).map((one) => (
              <li key={one.id}>
                <Link className="grow" href={addresses.destination(one.id)}>
                  {one.name}
                </Link>
                <DestinationHealth id={one.id} />
              </li>
            ))}
          </ul>
          {hidden > 0 && (
            <Button size="small" look="quiet" onClick={() => setWhole(true)}>
              Show {hidden} more
            </Button>
          )}
        </>
      )}
    </Card>
  );
}

const SHOWN_DAYS = 14;

function useUsage(sourceId: string) {
  const api = useApi();
  return useQuery({
    queryKey: ["usage", sourceId],
    queryFn: () => api.sources.usage(sourceId),
    refetchInterval: 5_000,
  });
}

function UsageCard({ usage }: { usage: ReturnType<typeof useUsage> }) {
  return (
    <Card
      title="Usage"
      note={`Messages per day (UTC), the last ${SHOWN_DAYS} days. Filtered and delivered count once per destination`}
      flush
    >
      <QueryView query={usage} skeleton={<Skeleton lines={3} />}>
        {({ days }) =>
          days.length === 0 ? (
            <p className="soft card-text">No messages from this source yet.</p>
          ) : (
            <Table
              label="Usage by day, newest first"
              items={days.slice(0, SHOWN_DAYS)}
              keyOf={(day) => day.day}
              columns={[
                { head: "Day", lead: true, cell: (day) => day.day },
                { head: "Accepted", align: "end", cell: (day) => count(day.accepted) },
                { head: "Filtered", align: "end", cell: (day) => count(day.filtered) },
                { head: "Delivered", align: "end", cell: (day) => count(day.delivered) },
              ]}
            />
          )
        }
      </QueryView>
    </Card>
  );
}
