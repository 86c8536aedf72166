import { useDestinations, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Time } from "../../ui/data/time.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { ListCard } from "../../ui/layout/list-card.js";
import { Page } from "../../ui/layout/page.js";
import { DestinationTable } from "./destination-table.js";

export function DestinationsPage() {
  const destinations = useDestinations();
  const names = useNames();
  return (
    <Page
      title="Destinations"
      lead="Where messages are sent. Each destination has its own queue, so one that is down does not delay the others."
      actions={
        <ButtonLink
          look={destinations.data?.length === 0 ? "plain" : "primary"}
          icon="plus"
          href={addresses.catalog()}
        >
          New destination
        </ButtonLink>
      }
    >
      <ListCard query={destinations} empty={<NoDestinations />}>
        {(items) => (
          <DestinationTable
            destinations={items}
            more={[
              { head: "Sources", cell: (one) => one.sourceIds.map(names.source).join(", ") || "None" },
              { head: "Created", align: "end", cell: (one) => <Time at={one.createdAt} /> },
            ]}
          />
        )}
      </ListCard>
    </Page>
  );
}

function NoDestinations() {
  return (
    <EmptyState
      icon="destinations"
      title="No destinations yet"
      action={
        <>
          <ButtonLink look="primary" icon="webhook" href={addresses.connect("webhooks")}>
            Connect a webhook
          </ButtonLink>
          <ButtonLink href={addresses.catalog()}>Open the catalog</ButtonLink>
        </>
      }
    >
      <p>Messages are stored, but not sent anywhere. To connect a webhook you only need its URL.</p>
    </EmptyState>
  );
}
