import type { ClusterPartitionView, ClusterView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import { Menu, MenuItem } from "../../ui/controls/menu.js";
import { Badge } from "../../ui/data/badge.js";
import { Table } from "../../ui/data/table.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { useNotify } from "../../ui/feedback/notice.js";
import { CLUSTER_KEY } from "./cluster-key.js";

/** The partitions with their owners. Each can be moved to another process. */
export function Partitions({ cluster: { partitions, members } }: { cluster: ClusterView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const move = useMutation({
    mutationFn: ({ partition, to }: { partition: number; to: string | undefined }) =>
      to === undefined ? api.cluster.unmove(String(partition)) : api.cluster.move(String(partition), to),
    onSuccess: (cluster, { partition, to }) => {
      queries.setQueryData(CLUSTER_KEY, cluster);
      notify(
        to === undefined
          ? `Any process can own partition ${partition} again`
          : `Partition ${partition} moves to ${to}`,
      );
    },
  });
  const nodes = members.filter(({ isAlive }) => isAlive).map(({ node }) => node);
  return (
    <>
      {move.error && <Failure error={move.error} />}
      <Table
        label="Partitions, by number"
        items={partitions}
        keyOf={({ partition }) => String(partition)}
        columns={[
          { head: "Partition", lead: true, cell: ({ partition }) => partition },
          { head: "Owner", cell: ({ owner }) => owner ?? <Badge tone="bad">None</Badge> },
          { head: "Moved to", cell: ({ movedTo }) => movedTo ?? <span className="faint">Any</span> },
          { head: "Since", align: "end", cell: ({ since }) => since && <Time at={since} /> },
          { head: "Takeovers", align: "end", wide: true, cell: ({ term }) => term },
          {
            head: "Actions",
            align: "end",
            cell: ({ partition, movedTo }: ClusterPartitionView) => (
              <Menu label={`Move partition ${partition}`} icon="cluster" text="Move">
                {nodes
                  .filter((node) => node !== movedTo)
                  .map((node) => (
                    <MenuItem key={node} onSelect={() => move.mutate({ partition, to: node })}>
                      {`To ${node}`}
                    </MenuItem>
                  ))}
                {movedTo !== undefined && (
                  <MenuItem onSelect={() => move.mutate({ partition, to: undefined })}>
                    To any process
                  </MenuItem>
                )}
              </Menu>
            ),
          },
        ]}
      />
    </>
  );
}
