import type { OperationInput, OperationView } from "@sluice/control-api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import { isRunning } from "./operation-words.js";

/** Operations that are shown on the page: those at work, and those that ended in the last minutes. */
const SHOWN_FOR_MS = 10 * 60_000;
const RUNNING_MS = 1_000;
const IDLE_MS = 10_000;

export function useRecentOperations() {
  const api = useApi();
  return useQuery({
    queryKey: ["operations"],
    queryFn: async () => (await api.operations.list({ limit: 10 })).items,
    refetchInterval: (query) => (query.state.data?.some(isRunning) ? RUNNING_MS : IDLE_MS),
    select: (operations: readonly OperationView[]) =>
      operations.filter(
        (one) => isRunning(one) || Date.now() - Date.parse(one.finishedAt ?? one.createdAt) < SHOWN_FOR_MS,
      ),
  });
}

export function useStartOperation() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (input: Omit<OperationInput, "dryRun">) => api.operations.create(input),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["operations"] }),
  });
}

export function useCancelOperation() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api.operations.cancel(id),
    onSettled: () => queries.invalidateQueries({ queryKey: ["operations"] }),
  });
}
