import type { RateSpan } from "@sluice/protocol";
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useApi } from "./api-context.js";
import { setCollectorClock } from "./collector-clock.js";
import type { ControlApi } from "./control-api.js";
import { readTotals } from "./metrics.js";

/** What several pages read. The first word of a key is the resource: a change invalidates by it. */

/** Things that change by people, not by messages. */
const SLOW_MS = 30_000;
/** Lists that nobody pages through: as many as the API gives at once. */
const ALL = { limit: 500 };
/** Numbers that move while one looks. */
const BRISK_MS = 2_000;

export function useInfo() {
  const api = useApi();
  return useQuery({
    queryKey: ["info"],
    queryFn: async () => {
      const askedMs = Date.now();
      const info = await api.info();
      setCollectorClock(Date.parse(info.now), (askedMs + Date.now()) / 2);
      return info;
    },
    refetchInterval: SLOW_MS,
  });
}

/** What was accepted, delivered and failed lately. */
export function useRates(span: RateSpan) {
  const api = useApi();
  return useQuery({
    queryKey: ["rates", span],
    queryFn: () => api.rates(span),
    refetchInterval: span === "5m" ? BRISK_MS : 5 * BRISK_MS,
    placeholderData: keepPreviousData,
  });
}

/** Counts since the collector's start. */
export function useTotals() {
  const api = useApi();
  return useQuery({
    queryKey: ["totals"],
    queryFn: async () => readTotals(await api.metrics()),
    refetchInterval: BRISK_MS,
    structuralSharing: false,
  });
}

export function useSources() {
  const api = useApi();
  return useQuery({
    queryKey: ["sources"],
    queryFn: async () => (await api.sources.list(ALL)).items,
    refetchInterval: SLOW_MS,
  });
}

export function useDestinations() {
  const api = useApi();
  return useQuery({
    queryKey: ["destinations"],
    queryFn: async () => (await api.destinations.list(ALL)).items,
    refetchInterval: SLOW_MS,
  });
}

export function useCatalog() {
  const api = useApi();
  return useQuery({
    queryKey: ["catalog"],
    queryFn: async () => (await api.catalog.list()).items,
    staleTime: Infinity,
  });
}

export function useDestinationStatus(id: string) {
  return useQuery(statusQuery(useApi(), id));
}

/** Those of several destinations that are known by now, and whether all have answered. */
export function useDestinationStatuses(ids: readonly string[]) {
  const api = useApi();
  const answers = useQueries({ queries: ids.map((id) => statusQuery(api, id)) });
  return {
    isPending: answers.some((answer) => answer.isPending),
    statuses: answers.flatMap((answer) => answer.data ?? []),
  };
}

function statusQuery(api: ControlApi, id: string) {
  return {
    queryKey: ["destination-status", id],
    queryFn: () => api.destinations.status(id),
    refetchInterval: BRISK_MS,
  };
}

export function useAudiences() {
  const api = useApi();
  return useQuery({
    queryKey: ["audiences"],
    queryFn: async () => (await api.audiences.list(ALL)).items,
    refetchInterval: BRISK_MS,
  });
}

/** Which messages audiences and computed traits do not count. */
export function useAudienceEngine() {
  const api = useApi();
  return useQuery({
    queryKey: ["audience-engine"],
    queryFn: () => api.audiences.engine(),
    refetchInterval: SLOW_MS,
  });
}

export function useComputedTraits() {
  const api = useApi();
  return useQuery({
    queryKey: ["computed-traits"],
    queryFn: async () => (await api.computedTraits.list(ALL)).items,
    refetchInterval: SLOW_MS,
  });
}

/** Names by id, for lists that show where a message came from or went to. */
export function useNames(): { source: (id: string) => string; destination: (id: string) => string } {
  const sources = useSources().data;
  const destinations = useDestinations().data;
  return {
    source: (id) => sources?.find((one) => one.id === id)?.name ?? shortId(id),
    destination: (id) => destinations?.find((one) => one.id === id)?.name ?? shortId(id),
  };
}

/** An id whose owner is gone or not known yet. */
function shortId(id: string): string {
  return id.length > 14 ? `${id.slice(0, 12)}…` : id;
}
