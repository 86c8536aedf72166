import type { DeliveryGroupView, OperationView } from "@sluice/control-api";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import {
  useApi,
  useDestinations,
  useHealth,
  useNames,
  useSources,
  useTransformations,
} from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { Count, Time } from "../../ui/data/facts.js";
import { type Column, Table } from "../../ui/data/table.js";
import { Failure } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { count } from "../../words/numbers.js";
import { backlogNote } from "../../words/states.js";
import { AttemptDetails } from "./attempts.js";
import { isRunning, useCancelOperation, useRecentOperations, useStartOperation } from "./operations-card.js";
import { RetryButton } from "./retry-button.js";

/** Of all destinations, or of one. */
export function useDeliveryGroups(destinationId?: string) {
  const api = useApi();
  return useQuery({
    queryKey: ["delivery-groups", destinationId],
    queryFn: () => api.deliveryGroups.list({ limit: 100, destinationId }),
    refetchInterval: 5_000,
    placeholderData: keepPreviousData,
  });
}

interface Chosen {
  readonly destination: string;
  readonly cause: string;
}

export function isChosen({ destinationId, cause }: DeliveryGroupView, chosen: Chosen): boolean {
  return destinationId === chosen.destination && cause === chosen.cause;
}

const NOTHING: Chosen = { destination: "", cause: "" };

/** What fails, by destination and cause. A group leads to its messages, and can be retried whole. */
export function GroupsCard({
  chosen = NOTHING,
  destinationId,
}: {
  chosen?: Chosen;
  /** Of one destination only. */
  destinationId?: string;
}) {
  const groups = useDeliveryGroups(destinationId);
  const names = useNames();
  const start = useStartOperation();
  const destination: readonly Column<DeliveryGroupView>[] = [
    { head: "Destination", cell: (group) => names.destination(group.destinationId) },
  ];
  // A destination that is down reads nothing: what waits for it is far more than what waits for a retry.
  const backlog: readonly Column<DeliveryGroupView>[] = [
    { head: "Backlog", align: "end", cell: (group) => <Backlog of={group} /> },
  ];
  if (groups.isError) return <Failure error={groups.error} onRetry={() => void groups.refetch()} />;
  const { items = [], isExact = true } = groups.data ?? {};
  if (items.length === 0) return null;
  return (
    <Card title="Causes" note={`The largest first${isExact ? "" : ". Counts are minimums"}`} flush>
      <Table
        label="Failed and pending deliveries by cause"
        items={items}
        keyOf={({ id }) => id}
        columns={[
          {
            head: "Cause",
            lead: true,
            cell: (group) => (
              <Link
                className="strong-link"
                aria-current={isChosen(group, chosen) ? "true" : undefined}
                href={addresses.deliveries({ destination: group.destinationId, cause: group.cause })}
              >
                {group.title}
              </Link>
            ),
          },
          ...(destinationId === undefined ? destination : []),
          { head: "Failed", align: "end", cell: ({ failed }) => <Count value={failed} /> },
          { head: "Pending", align: "end", cell: ({ pending }) => <Count value={pending} /> },
          ...(destinationId === undefined ? backlog : []),
          { head: "First seen", align: "end", cell: ({ firstSeenAt }) => <Time at={firstSeenAt} /> },
          { head: "Last seen", align: "end", cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
          {
            head: "Actions",
            align: "end",
            cell: (group) => <RetryGroup group={group} isExact={isExact} start={start} />,
          },
        ]}
      />
      {start.isError && <Failure error={start.error} />}
    </Card>
  );
}

function Backlog({ of: { destinationId } }: { of: DeliveryGroupView }) {
  const status = useHealth().data?.destinations.find((one) => one.destinationId === destinationId);
  if (status === undefined) return "…";
  return (
    <span title={backlogNote(status)}>
      <Count value={status.waiting} />
    </span>
  );
}

/** Retries a whole group. While that runs: how far it is, and a button that stops it. */
function RetryGroup({
  group: { destinationId, cause, title, failed, pending },
  isExact,
  start,
}: {
  group: DeliveryGroupView;
  isExact: boolean;
  start: ReturnType<typeof useStartOperation>;
}) {
  const running = useRecentOperations().data?.find(
    (one) => isRunning(one) && one.filter?.destinationId === destinationId && one.filter.cause === cause,
  );
  if (running !== undefined) return <GroupProgress operation={running} title={title} />;
  // Its messages do not exist any more: there is nothing to send.
  if (cause === "message_gone") return null;
  return (
    <RetryButton
      destinationId={destinationId}
      busy={start.isPending}
      onRetry={() => start.mutate({ kind: "retry", filter: { destinationId, cause } })}
    >
      Retry all{isExact && ` ${count(failed + pending)}`}
    </RetryButton>
  );
}

function GroupProgress({
  operation: { id, done, total },
  title,
}: {
  operation: OperationView;
  title: string;
}) {
  const cancel = useCancelOperation();
  return (
    <span className="group-progress">
      <progress
        className="progress"
        aria-label={`Retry of ${title}`}
        max={Math.max(1, total)}
        value={done}
        title={`${count(done)} of ${count(total)}`}
      />
      <Button size="small" busy={cancel.isPending} onClick={() => cancel.mutate(id)}>
        Stop
      </Button>
    </span>
  );
}

/** The transformations that a destination's messages go through, its own and those of its sources. */
function useTransformationsOf(destinationId: string) {
  const destination = useDestinations().data?.find(({ id }) => id === destinationId);
  const sources = useSources().data ?? [];
  const attached = new Set([
    destination?.transformationId,
    ...sources.filter(({ id }) => destination?.sourceIds.includes(id)).map((one) => one.transformationId),
  ]);
  return (useTransformations().data ?? []).filter(({ id }) => attached.has(id));
}

/** One group: what to do, and the last attempt of its newest message. */
export function GroupDetails({ group }: { group: DeliveryGroupView }) {
  const { example, advice, cause, destinationId } = group;
  const transformations = useTransformationsOf(destinationId);
  return (
    <div className="group-details stack">
      <p>
        <strong>What to do: </strong>
        {advice}
        {cause.startsWith("transform") &&
          transformations.map(({ id, name }) => (
            <Link key={id} className="list-link" href={addresses.transformation(id)}>
              {" "}
              {visibleText(name)}
            </Link>
          ))}
      </p>
      {example?.attempt && (
        <div className="stack-tight">
          <p className="small soft">
            Newest example:{" "}
            <Link className="strong-link" href={addresses.message(example.messageId, example.sourceId)}>
              {visibleText(example.event ?? example.type ?? example.messageId, 80)}
            </Link>
            , <Time at={example.attempt.at} />
          </p>
          <AttemptDetails attempt={example.attempt} requestBody={example.requestBody} />
        </div>
      )}
    </div>
  );
}
