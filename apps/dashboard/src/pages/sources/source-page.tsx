import type { SourceView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useDestinations } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Badge } from "../../ui/data/badge.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Icon } from "../../ui/icon.js";
import { DeleteCard } from "../../ui/layout/delete-card.js";
import { Card, Page } from "../../ui/layout/page.js";
import { ResourcePage } from "../../ui/layout/resource-page.js";
import { BlockedEvents } from "./blocked-events.js";
import { SnippetTabs } from "./snippets/snippet-tabs.js";
import { newestKey } from "./snippets/write-key.js";
import { SOURCE_KINDS } from "./source-kinds.js";
import { SourceSettings } from "./source-settings.js";
import { UsageCard } from "./usage-card.js";
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
  return (
    <Page
      title={name}
      up={UP}
      badge={<Badge tone="quiet">{SOURCE_KINDS[kind].label}</Badge>}
      actions={
        <ButtonLink icon="live" href={addresses.live(`source:${id}`)}>
          View messages
        </ButtonLink>
      }
    >
      <Card title="Send messages" note="The snippets contain the newest write key of this source">
        <SnippetTabs writeKey={newestKey(source)} />
      </Card>
      <div className="two-columns">
        <WriteKeys source={source} />
        <ConnectedDestinations sourceId={id} />
      </div>
      <UsageCard sourceId={id} />
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

function ConnectedDestinations({ sourceId }: { sourceId: string }) {
  const destinations = useDestinations().data?.filter((one) => one.sourceIds.includes(sourceId));
  return (
    <Card title="Destinations" note="They get all messages of this source">
      {destinations === undefined ? (
        <Skeleton lines={2} />
      ) : destinations.length === 0 ? (
        <div className="stack-tight">
          <p className="soft">None. Messages are stored, but not sent anywhere.</p>
          <div>
            <ButtonLink size="small" icon="webhook" href={addresses.connect("webhooks")}>
              Connect a webhook
            </ButtonLink>
          </div>
        </div>
      ) : (
        <ul className="lines">
          {destinations.map((one) => (
            <li key={one.id}>
              <Icon name="destinations" />
              <Link className="grow" href={addresses.destination(one.id)}>
                {one.name}
              </Link>
              <Badge tone={one.enabled ? "good" : "quiet"}>{one.enabled ? "Enabled" : "Disabled"}</Badge>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
