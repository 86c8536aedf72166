import type { DestinationView } from "@sluice/control-api";
import { Link } from "wouter";
import { addresses } from "../../routing/addresses.js";
import { type Column, Table } from "../../ui/data/table.js";
import { BacklogCount, DestinationHealth, HealthNote } from "./health/destination-health.js";

/** Destinations with their state and backlog, then the columns of the page. */
export function DestinationTable({
  destinations,
  more,
}: {
  destinations: readonly DestinationView[];
  more: readonly Column<DestinationView>[];
}) {
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
        {
          head: "State",
          cell: (one) => (
            <>
              <DestinationHealth id={one.id} /> <HealthNote id={one.id} />
            </>
          ),
        },
        { head: "Backlog", align: "end", cell: (one) => <BacklogCount id={one.id} /> },
        ...more,
      ]}
    />
  );
}
