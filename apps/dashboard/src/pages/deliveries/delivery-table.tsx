import { type DeliveryView, describeReason } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useApi, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { DueTime, StateBadge, Time } from "../../ui/data/facts.js";
import { type Column, Table } from "../../ui/data/table.js";
import { visibleText } from "../../words/messages.js";
import { RetryButton } from "./retry-button.js";

/** The selected rows. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly toggle: (ids: readonly string[], isOn: boolean) => void;
}

export function DeliveryTable({
  deliveries,
  goneIds = NONE,
  selection,
  ofOneDestination = false,
  onRetry,
  onOpen,
}: {
  deliveries: readonly DeliveryView[];
  /** Rows that are no longer in the list. Their current state is read again. */
  goneIds?: ReadonlySet<string>;
  /** Absent: rows cannot be selected. */
  selection?: Selection;
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
      oneLine
      items={deliveries}
      keyOf={(one) => one.id}
      columns={[
        ...(selection === undefined ? [] : [selectColumn(deliveries, selection)]),
        { head: "Message", lead: true, cell: MessageLink },
        {
          head: "User",
          wide: true,
          fit: true,
          cell: ({ userId, anonymousId: id = "–" }) => (
            <span title={visibleText(userId ?? id)}>{visibleText(userId ?? id, 24)}</span>
          ),
        },
        {
          head: "State",
          fit: true,
          cell: (one) =>
            goneIds.has(one.id) ? <CurrentState id={one.id} /> : <StateBadge state={one.state} />,
        },
        ...(ofOneDestination ? [] : [destination]),
        {
          head: "Reason",
          cell: ({ reason }) => (
            <span className="small soft" title={visibleText(reason, 500)}>
              {visibleText(describeReason(reason), 160)}
            </span>
          ),
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
            !goneIds.has(one.id) && (one.state === "failed" || one.state === "pending") ? (
              <RetryButton destinationId={one.destinationId} onRetry={() => onRetry(one)} />
            ) : (
              <span className="faint">–</span>
            ),
        },
      ]}
    />
  );
}

function MessageLink({ messageId, sourceId, type, event }: DeliveryView) {
  return (
    <Link className="strong-link" href={addresses.message(messageId, sourceId)} title={messageId}>
      {visibleText(event ?? type ?? "", 60)}{" "}
      <span className="small faint mono message-id">{visibleText(messageId, 40)}</span>
    </Link>
  );
}

/** The state of a delivery that has left the list, such as after a retry. */
function CurrentState({ id }: { id: string }) {
  const api = useApi();
  const delivery = useQuery({
    queryKey: ["deliveries", "one", id],
    queryFn: () => api.deliveries.get(id),
    retry: false,
  });
  if (delivery.isError) return <span className="small faint">no longer stored</span>;
  return delivery.data === undefined ? (
    <span className="faint">…</span>
  ) : (
    <StateBadge state={delivery.data.state} />
  );
}

function selectColumn(deliveries: readonly DeliveryView[], { ids, toggle }: Selection): Column<DeliveryView> {
  const isAll = deliveries.length > 0 && deliveries.every(({ id }) => ids.has(id));
  return {
    head: "Select",
    fit: true,
    headCell: (
      <input
        type="checkbox"
        aria-label="Select all rows"
        checked={isAll}
        onChange={(change) =>
          toggle(
            deliveries.map(({ id }) => id),
            change.target.checked,
          )
        }
      />
    ),
    cell: ({ id, event, type, messageId }) => (
      <input
        type="checkbox"
        aria-label={`Select ${visibleText(event ?? type ?? "", 60)} ${visibleText(messageId, 40)}`}
        checked={ids.has(id)}
        onChange={(change) => toggle([id], change.target.checked)}
      />
    ),
  };
}

const NONE: ReadonlySet<string> = new Set();

/** The time of the last state, or of the next attempt. A delivery that is due may still wait for its destination. */
function DeliveryTime({ delivery: { at, nextAttemptAt } }: { delivery: DeliveryView }) {
  return nextAttemptAt === undefined ? <Time at={at} /> : <DueTime at={nextAttemptAt} />;
}
