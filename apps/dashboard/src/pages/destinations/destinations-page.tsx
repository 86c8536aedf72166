import type { DestinationView } from "@sluice/protocol";
import { useDestinations, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Link } from "../../routing/link.js";
import { ButtonLink } from "../../ui/button.js";
import { EmptyState } from "../../ui/empty-state.js";
import { Failure } from "../../ui/failure.js";
import { Card, Page } from "../../ui/page.js";
import { Skeleton } from "../../ui/skeleton.js";
import { Table } from "../../ui/table.js";
import { Time } from "../../ui/time.js";
import { DestinationHealth, DestinationLag } from "./destination-health.js";

export function DestinationsPage() {
  const destinations = useDestinations();
  return (
    <Page
      title="Destinations"
      lead="Where messages go. Each has its own queue: one that is down holds up no other."
      actions={
        <ButtonLink look="primary" icon="plus" href={addresses.catalog()}>
          New destination
        </ButtonLink>
      }
    >
      {destinations.isError ? (
        <Failure error={destinations.error} onRetry={() => void destinations.refetch()} />
      ) : (
        <Card flush>
          {destinations.isPending ? (
            <Skeleton />
          ) : destinations.data.length === 0 ? (
            <EmptyState
              icon="destinations"
              title="Messages go nowhere yet"
              action={
                <>
                  <ButtonLink look="primary" icon="webhook" href={addresses.connect("webhooks")}>
                    Connect a webhook
                  </ButtonLink>
                  <ButtonLink href={addresses.catalog()}>See the catalog</ButtonLink>
                </>
              }
            >
              <p>
                They are stored and can be looked at. A webhook takes a URL and half a minute, test send
                included.
              </p>
            </EmptyState>
          ) : (
            <DestinationTable destinations={destinations.data} />
          )}
        </Card>
      )}
    </Page>
  );
}

function DestinationTable({ destinations }: { destinations: readonly DestinationView[] }) {
  const names = useNames();
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
        { head: "Sources", cell: (one) => one.sourceIds.map(names.source).join(", ") || "None" },
        { head: "Made", align: "end", cell: (one) => <Time at={one.createdAt} /> },
      ]}
    />
  );
}
