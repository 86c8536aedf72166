import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useApi } from "./api-context.js";
import { type MetricsSample, readMetrics } from "./metrics.js";

export const SAMPLE_EVERY_MS = 2_000;
/** Five minutes. */
const MOST_SAMPLES = 150;
const KEY = ["metrics"];

/** The counters as they were since this tab was opened, oldest first: rates are made of their differences. */
export function useMetricsHistory() {
  const api = useApi();
  const queries = useQueryClient();
  return useQuery({
    queryKey: KEY,
    queryFn: async () => {
      const sample = readMetrics(await api.metrics(), Date.now());
      const before = queries.getQueryData<readonly MetricsSample[]>(KEY) ?? [];
      return [...before, sample].slice(-MOST_SAMPLES);
    },
    refetchInterval: SAMPLE_EVERY_MS,
    structuralSharing: false,
    retry: false,
  });
}
