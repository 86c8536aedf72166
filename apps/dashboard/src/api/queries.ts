import type { RateSpan } from "@sluice/control-api";
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useApi } from "./api-context.js";
import { setCollectorClock } from "./collector-clock.js";
import type { ControlApi } from "./control-api.js";
import { readTotals } from "./metrics.js";

/** Queries that several pages use. The first part of a key is the resource, so that changes can invalidate it. */

/** For data that users change. */
const SLOW_MS = 30_000;
/** For lists without paging: the API's maximum. */
const ALL = { limit: 500 };
/** For counts that change with every message. */
const FAST_MS = 2_000;

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

/** Accepted, delivered and failed messages over time. */
export function useRates(span: RateSpan) {
  const api = useApi();
  return useQuery({
    queryKey: ["rates", span],
    queryFn: () => api.rates(span),
    refetchInterval: span === "5m" ? FAST_MS : 5 * FAST_MS,
    placeholderData: keepPreviousData,
  });
}

/** Counts since the collector started. */
export function useTotals() {
  const api = useApi();
  return useQuery({
    queryKey: ["totals"],
    queryFn: async () => readTotals(await api.metrics()),
    refetchInterval: FAST_MS,
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

/** The statuses loaded so far, and whether any is still missing. */
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
    refetchInterval: FAST_MS,
  };
}

export function useAudiences() {
  const api = useApi();
  return useQuery({
    queryKey: ["audiences"],
    queryFn: async () => (await api.audiences.list(ALL)).items,
    refetchInterval: FAST_MS,
  });
}

/** The messages that audiences and computed traits skip. */
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

/** Names of sources and destinations by id. Unknown ids are shortened. */
export function useNames(): { source: (id: string) => string; destination: (id: string) => string } {
  const sources = useSources().data;
  const destinations = useDestinations().data;
  return {
    source: (id) => sources?.find((one) => one.id === id)?.name ?? shortId(id),
    destination: (id) => destinations?.find((one) => one.id === id)?.name ?? shortId(id),
  };
}

function shortId(id: string): string {
  return id.length > 14 ? `${id.slice(0, 12)}…` : id;
}
