import type { DestinationStatusView, DestinationView } from "@sluice/control-api";
import { Link } from "wouter";
import { useActivity } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { LastAt } from "../../ui/data/facts.js";
import { type Column, Table } from "../../ui/data/table.js";
import { visibleText } from "../../words/messages.js";
import { rateText, successText } from "../../words/numbers.js";
import { healthWords } from "../../words/states.js";
import { BacklogCount, DestinationHealth, HealthNote } from "./health/destination-health.js";

const TONES = ["bad", "wait", "quiet", "good"] as const;

/** Those that need attention first, then as they were created. */
export function worstFirst(
  destinations: readonly DestinationView[],
  statuses: readonly DestinationStatusView[],
): readonly DestinationView[] {
  const ranks = new Map(
    statuses.map(({ destinationId, health }) => [
      destinationId,
      // Idle and disabled ones need nothing.
      Math.min((TONES as readonly string[]).indexOf(healthWords(health).tone), 2),
    ]),
  );
  const rank = ({ id }: DestinationView): number => ranks.get(id) ?? TONES.length;
  return destinations.toSorted((a, b) => rank(a) - rank(b));
}

/** Destinations, one line each: state and backlog, `more` columns, and what they did in the last hour. */
export function DestinationTable({
  destinations,
  more = [],
}: {
  destinations: readonly DestinationView[];
  more?: readonly Column<DestinationView>[];
}) {
  const activity = useActivity().data;
  const activityOf = (id: string) => activity?.destinations.find(({ destinationId }) => destinationId === id);
  return (
    <Table
      label="Destinations, the worst first"
      oneLine
      items={destinations}
      keyOf={(one) => one.id}
      columns={[
        {
          head: "Name",
          lead: true,
          cell: ({ id, name }) => (
            <Link className="strong-link" href={addresses.destination(id)} title={name}>
              {visibleText(name)}
            </Link>
          ),
        },
        {
          head: "State",
          cell: ({ id }) => (
            <>
              <DestinationHealth id={id} /> <HealthNote id={id} />
            </>
          ),
        },
        ...more,
        { head: "Backlog", align: "end", cell: ({ id }) => <BacklogCount id={id} /> },
        {
          head: "Rate",
          align: "end",
          cell: ({ id }) => rateText(activityOf(id)?.delivered, activity?.overMs),
        },
        {
          head: "Success",
          align: "end",
          cell: ({ id }) => (activity === undefined ? "…" : successText(activityOf(id))),
        },
        {
          head: "Last delivery",
          align: "end",
          cell: ({ id }) => (activity === undefined ? "…" : <LastAt at={activityOf(id)?.lastDeliveryAt} />),
        },
      ]}
    />
  );
}
