import { useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import { useInfo } from "../../api/queries.js";
import { CLUSTER_KEY } from "./cluster-key.js";

/** How many partitions the cluster has; 1 if the collector runs on its own. */
export function useClusterPartitions(): number {
  const api = useApi();
  const isInCluster = useInfo().data?.cluster !== undefined;
  const cluster = useQuery({
    queryKey: CLUSTER_KEY,
    queryFn: () => api.cluster.get(),
    enabled: isInCluster,
  });
  return cluster.data?.partitions.length ?? 1;
}
