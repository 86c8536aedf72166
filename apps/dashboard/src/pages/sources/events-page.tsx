import type { EventListView, EventView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button, Segments } from "../../ui/controls/button.js";
import { TextField } from "../../ui/controls/field.js";
import { Badge, KindTag, Time } from "../../ui/data/facts.js";
import { JsonTree } from "../../ui/data/json-tree.js";
import { Table } from "../../ui/data/table.js";
import { EmptyState, QueryView, Skeleton } from "../../ui/feedback.js";
import { Dialog } from "../../ui/layout/dialog.js";
import { Card, Page } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { count, counted, percent } from "../../words/numbers.js";
import { useSourceEvents } from "./use-source-events.js";

const SHOWN = [
  ["all", "All"],
  ["unplanned", "Not in the plan"],
  ["violating", "With violations"],
] as const;
type Shown = (typeof SHOWN)[number][0];

/** Rows of the first screen, and of each "show more". */
const ROWS = 100;

/** The event catalog of a source. */
export function EventsPage({ sourceId }: { sourceId: string }) {
  const api = useApi();
  const source = useQuery({ queryKey: ["sources", sourceId], queryFn: () => api.sources.get(sourceId) });
  const events = useSourceEvents(sourceId);
  return (
    <Page
      title="Events"
      up={{ href: addresses.source(sourceId), label: source.data?.name ?? "Source" }}
      lead="What this source sent, most messages first. Counts are of stored messages."
    >
      <QueryView
        query={events}
        canRetry
        skeleton={
          <Card>
            <Skeleton lines={6} />
          </Card>
        }
      >
        {(list) => <EventList sourceId={sourceId} list={list} />}
      </QueryView>
    </Page>
  );
}

function EventList({ sourceId, list }: { sourceId: string; list: EventListView }) {
  const [search, setSearch] = useState("");
  const [shown, setShown] = useState<Shown>("all");
  const [rows, setRows] = useState(ROWS);
  const [opened, setOpened] = useState<EventView | undefined>();
  if (list.items.length === 0)
    return (
      <EmptyState icon="sources" title="No events yet">
        Events appear here a few seconds after their first message.
      </EmptyState>
    );
  const found = matching(list.items, search, shown);
  const hasPlan = list.items.some(({ isPlanned }) => isPlanned !== undefined);
  return (
    <div className="stack">
      <div className="row">
        <TextField
          label="Search events"
          hideLabel
          type="search"
          placeholder="Search by name or property"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        {hasPlan && <Segments label="Events to show" value={shown} options={SHOWN} onChange={setShown} />}
      </div>
      <Card flush title={counted(found.length, "event")} note={<ListNote list={list} />}>
        {found.length === 0 ? (
          <p className="soft card-text">No event matches.</p>
        ) : (
          <EventTable events={found.slice(0, rows)} hasPlan={hasPlan} onOpen={setOpened} />
        )}
      </Card>
      {found.length > rows && <Button onClick={() => setRows(rows + ROWS)}>Show more</Button>}
      <Dialog
        open={opened !== undefined}
        onClose={() => setOpened(undefined)}
        title={opened === undefined ? "" : titleOf(opened)}
      >
        {opened && <EventDetails sourceId={sourceId} event={opened} />}
      </Dialog>
    </div>
  );
}

function ListNote({ list: { names, notKept, behind } }: { list: EventListView }) {
  const parts = [
    ...(notKept > 0
      ? [`${count(names)} names are kept, the most that are listed. ${count(notKept)} messages had others.`]
      : []),
    ...(behind > 0 ? [`${counted(behind, "message is", "messages are")} not counted yet.`] : []),
  ];
  return parts.length === 0 ? "Select an event to see its properties and an example" : parts.join(" ");
}

function EventTable({
  events,
  hasPlan,
  onOpen,
}: {
  events: readonly EventView[];
  hasPlan: boolean;
  onOpen: (event: EventView) => void;
}) {
  return (
    <Table
      label="Events, most messages first"
      items={events}
      keyOf={({ type, name }) => `${type} ${name}`}
      columns={[
        {
          head: "Event",
          lead: true,
          cell: (event) => (
            <span className="event-name">
              <KindTag kind={event.type} />
              <button type="button" className="link-button" onClick={() => onOpen(event)}>
                {titleOf(event)}
              </button>
              {event.isPlanned === false && <Badge tone="wait">Not in the plan</Badge>}
            </span>
          ),
        },
        { head: "Messages", align: "end", cell: (event) => count(event.count) },
        ...(hasPlan
          ? [
              {
                head: "Violations",
                align: "end" as const,
                cell: (event: EventView) => count(event.violations),
              },
            ]
          : []),
        {
          head: "Properties",
          align: "end",
          cell: (event) => `${event.properties.length}${event.hasMoreProperties ? "+" : ""}`,
        },
        { head: "First seen", cell: (event) => <Time at={event.firstSeenAt} /> },
        { head: "Last seen", cell: (event) => <Time at={event.lastSeenAt} /> },
      ]}
    />
  );
}

function EventDetails({ sourceId, event }: { sourceId: string; event: EventView }) {
  const { properties, sampled, example, lastViolation, violations } = event;
  return (
    <div className="stack">
      <p className="soft">
        {counted(event.count, "message")}, last <Time at={event.lastSeenAt} />, first{" "}
        <Time at={event.firstSeenAt} />.
      </p>
      {lastViolation && (
        <div className="stack-tight">
          <strong>{counted(violations, "violation")} of the plan</strong>
          <p>
            {visibleText(lastViolation.message, 400)}{" "}
            <span className="soft">
              (the last one, <Time at={lastViolation.at} />)
            </span>
          </p>
        </div>
      )}
      {properties.length === 0 ? (
        <p className="soft">Its messages have no properties.</p>
      ) : (
        <Table
          label="Properties, by name"
          items={properties}
          keyOf={({ name }) => name}
          columns={[
            {
              head: "Property",
              lead: true,
              cell: ({ name }) => <span className="mono">{visibleText(name, 100)}</span>,
            },
            { head: "Types", cell: ({ types }) => types.join(", ") },
            {
              head: "In",
              align: "end",
              cell: ({ seen }) => percent(Math.min(1, seen / Math.max(1, sampled))),
            },
          ]}
        />
      )}
      <p className="small faint">
        Shares are of {counted(sampled, "sampled message")}.
        {event.hasMoreProperties && " Some properties are left out."}
      </p>
      {example === undefined ? (
        <p className="soft">There is no example: its message was deleted or has expired.</p>
      ) : (
        <div className="stack-tight">
          <strong>Example</strong>
          {example.data !== undefined && <JsonTree value={example.data} label="Properties of an example" />}
          <Link href={addresses.message(example.messageId, sourceId)}>Open the message</Link>
        </div>
      )}
    </div>
  );
}

function titleOf({ type, name }: EventView): string {
  return visibleText(name ?? type, 100);
}

function matching(items: readonly EventView[], search: string, shown: Shown): readonly EventView[] {
  const wanted = search.trim().toLowerCase();
  return items
    .filter(
      ({ isPlanned, violations }) =>
        shown === "all" || (shown === "unplanned" ? isPlanned === false : violations > 0),
    )
    .filter(
      ({ type, name, properties }) =>
        (name ?? type).toLowerCase().includes(wanted) ||
        properties.some((one) => one.name.toLowerCase().includes(wanted)),
    )
    .sort((one, other) => other.count - one.count);
}
