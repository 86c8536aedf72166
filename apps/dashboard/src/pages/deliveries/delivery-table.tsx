import type { DeliveryView } from "@sluice/control-api";
import { Link } from "wouter";
import { useNow } from "../../api/collector-clock.js";
import { useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { StateBadge } from "../../ui/data/badge.js";
import { type Column, Table } from "../../ui/data/table.js";
import { Time } from "../../ui/data/time.js";
import { visibleText } from "../../words/visible-text.js";

export function DeliveryTable({
  deliveries,
  ofOneDestination = false,
  onRetry,
  onOpen,
}: {
  deliveries: readonly DeliveryView[];
  /** Omits the destination column. */
  ofOneDestination?: boolean;
  onRetry: (delivery: DeliveryView) => void;
  onOpen: (delivery: DeliveryView) => void;
}) {
  const names = useNames();
  const destination: Column<DeliveryView> = {
    head: "Destination",
    cell: (one) => (
      <Link href={addresses.destination(one.destinationId)}>{names.destination(one.destinationId)}</Link>
    ),
  };
  return (
    <Table
      label="Deliveries, newest first"
      items={deliveries}
      keyOf={(one) => one.id}
      columns={[
        { head: "Message", lead: true, cell: MessageLink },
        { head: "State", cell: (one) => <StateBadge state={one.state} /> },
        ...(ofOneDestination ? [] : [destination]),
        {
          head: "Reason",
          cell: (one) => <span className="small soft reason">{visibleText(one.reason, 160)}</span>,
        },
        {
          head: "Attempts",
          align: "end",
          cell: (one) => (
            <button type="button" className="text-button" onClick={() => onOpen(one)}>
              {one.attempts}
              <span className="visually-hidden"> attempts, show them</span>
            </button>
          ),
        },
        { head: "Time", align: "end", cell: (one) => <DeliveryTime delivery={one} /> },
        {
          head: "Actions",
          align: "end",
          cell: (one) =>
            one.state === "failed" || one.state === "pending" ? (
              <Button size="small" icon="replay" onClick={() => onRetry(one)}>
                Retry
              </Button>
            ) : (
              <span className="faint">–</span>
            ),
        },
      ]}
    />
  );
}

function MessageLink({ messageId, sourceId }: DeliveryView) {
  return (
    <Link className="strong-link mono" href={addresses.message(messageId, sourceId)}>
      {visibleText(messageId, 40)}
    </Link>
  );
}

/** The time of the last state, or of the next attempt. A delivery that is due may still wait for its destination. */
function DeliveryTime({ delivery: { at, nextAttemptAt } }: { delivery: DeliveryView }) {
  const nowMs = useNow();
  if (nextAttemptAt === undefined) return <Time at={at} />;
  if (Date.parse(nextAttemptAt) <= nowMs) {
    return <span title="It is sent as soon as the destination accepts messages again">due now</span>;
  }
  return <Time at={nextAttemptAt} />;
}
