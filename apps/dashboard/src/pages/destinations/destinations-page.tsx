import { useDestinations, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Time } from "../../ui/data/time.js";
import { ListCard } from "../../ui/layout/list-card.js";
import { Page } from "../../ui/layout/page.js";
import { DestinationTable } from "./destination-table.js";
import { NoDestinations } from "./no-destinations.js";

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
