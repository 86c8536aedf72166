import type { DeliveryGroupView } from "@sluice/control-api";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Count } from "../../ui/data/count.js";
import { Table } from "../../ui/data/table.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/visible-text.js";
import { AttemptDetails } from "./attempts/attempt-details.js";

export function useDeliveryGroups() {
  const api = useApi();
  return useQuery({
    queryKey: ["delivery-groups"],
    queryFn: () => api.deliveryGroups.list({ limit: 100 }),
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

/** What fails, by destination and cause. A group leads to its messages. */
export function GroupsCard({ chosen }: { chosen: Chosen }) {
  const groups = useDeliveryGroups();
  const names = useNames();
  if (groups.isError) return <Failure error={groups.error} onRetry={() => void groups.refetch()} />;
  const { items = [], isExact = true } = groups.data ?? {};
  if (items.length === 0) return null;
  return (
    <Card
      title="Causes"
      note={`Failed and pending deliveries by cause, largest first${isExact ? "" : ". Counts are minimums"}`}
      flush
    >
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
          { head: "Destination", cell: ({ destinationId }) => names.destination(destinationId) },
          { head: "Failed", align: "end", cell: ({ failed }) => <Count value={failed} /> },
          { head: "Pending", align: "end", cell: ({ pending }) => <Count value={pending} /> },
          { head: "First seen", align: "end", cell: ({ firstSeenAt }) => <Time at={firstSeenAt} /> },
          { head: "Last seen", align: "end", cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
        ]}
      />
    </Card>
  );
}

/** One group: what to do, and the last attempt of its newest message. */
export function GroupDetails({ group }: { group: DeliveryGroupView }) {
  const { example, advice } = group;
  return (
    <div className="group-details stack">
      <p>
        <strong>What to do: </strong>
        {advice}
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
