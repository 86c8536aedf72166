import { useDestinations, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Time } from "../../ui/data/time.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card, Page } from "../../ui/layout/page.js";
import { DestinationTable } from "./destination-table.js";

export function DestinationsPage() {
  const destinations = useDestinations();
  const names = useNames();
  return (
    <Page
      title="Destinations"
      lead="Where messages go. Each has its own queue: one that is down holds up no other."
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
            <DestinationTable
              destinations={destinations.data}
              more={[
                { head: "Sources", cell: (one) => one.sourceIds.map(names.source).join(", ") || "None" },
                { head: "Made", align: "end", cell: (one) => <Time at={one.createdAt} /> },
              ]}
            />
          )}
        </Card>
      )}
    </Page>
  );
}
