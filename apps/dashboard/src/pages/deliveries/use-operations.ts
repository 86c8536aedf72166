import type { OperationInput, OperationView } from "@sluice/control-api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import { count, counted } from "../../words/numbers.js";

const VERBS = { retry: "Retry", replay: "Replay", discard: "Discard" } as const;

/** `Retry of 1,204 deliveries`. */
export function operationTitle({ kind, state, total }: OperationView): string {
  if (state === "selecting") return `${VERBS[kind]}: finding the deliveries`;
  return `${VERBS[kind]} of ${counted(total, "delivery", "deliveries")}`;
}

export function isRunning({ state }: OperationView): boolean {
  return state === "selecting" || state === "running";
}

/** `1,100 delivered, 4 failed again (HTTP 503), 100 skipped`. */
export function operationResult({ results, causes, waiting }: OperationView): string {
  const why = causes.map(({ title }) => title).join(", ");
  const parts = [
    [results.delivered, "delivered"],
    [results.discarded, "discarded"],
    [results.failed, `failed again${why === "" ? "" : ` (${why})`}`],
    [results.skipped, "skipped"],
    [waiting, "waiting for a result"],
  ] as const;
  const shown = parts.flatMap(([number, words]) => (number === 0 ? [] : [`${count(number)} ${words}`]));
  return shown.length === 0 ? "No results yet" : shown.join(", ");
}

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
