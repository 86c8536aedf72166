import { useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import { Table } from "../../ui/data/table.js";
import { QueryView } from "../../ui/feedback/query-view.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card } from "../../ui/layout/page.js";
import { count } from "../../words/numbers.js";

const SHOWN_DAYS = 14;

export function UsageCard({ sourceId }: { sourceId: string }) {
  const api = useApi();
  const usage = useQuery({
    queryKey: ["usage", sourceId],
    queryFn: () => api.sources.usage(sourceId),
    refetchInterval: 5_000,
  });
  return (
    <Card
      title="Usage"
      note={`Messages per day (UTC) in the last ${SHOWN_DAYS} days, newest first. Filtered and delivered count once per destination`}
      flush
    >
      <QueryView query={usage} skeleton={<Skeleton lines={3} />}>
        {({ days }) =>
          days.length === 0 ? (
            <p className="soft card-text">No messages from this source yet.</p>
          ) : (
            <Table
              label="Usage by day, newest first"
              items={days.slice(0, SHOWN_DAYS)}
              keyOf={(day) => day.day}
              columns={[
                { head: "Day", lead: true, cell: (day) => day.day },
                { head: "Accepted", align: "end", cell: (day) => count(day.accepted) },
                { head: "Filtered", align: "end", cell: (day) => count(day.filtered) },
                { head: "Delivered", align: "end", cell: (day) => count(day.delivered) },
              ]}
            />
          )
        }
      </QueryView>
    </Card>
  );
}
