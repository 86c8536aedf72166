import type { CollectorHealthView, ListAnswer, RateSpan, SizeSpan } from "@sluice/control-api";
import { AUDIENCE_SOURCE_ID } from "@sluice/protocol";
import { keepPreviousData, type QueryKey, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { createContext, useContext } from "react";
import { setCollectorClock } from "./collector-clock.js";
import type { ControlApi } from "./control-api.js";

export const ApiContext = createContext<ControlApi | undefined>(undefined);

export function useApi(): ControlApi {
  const api = useContext(ApiContext);
  if (api === undefined) throw new Error("useApi outside of a signed-in session");
  return api;
}

/** A list of the API that is read page by page; `data` has the items of all pages read so far. */
export function usePagedQuery<T>({
  read,
  ...options
}: {
  queryKey: QueryKey;
  read: (cursor: string | undefined) => Promise<ListAnswer<T>>;
  refetchInterval?: number;
  placeholderData?: typeof keepPreviousData;
}) {
  return useInfiniteQuery({
    ...options,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: ListAnswer<T>) => page.nextCursor,
    select: ({ pages }): readonly T[] => pages.flatMap((page) => page.items),
  });
}

/** Queries that several pages use. The first part of a key is the resource, so that changes can invalidate it. */

/** For data that users change. */
const SLOW_MS = 30_000;
/** For lists without paging: the API's maximum. */
const ALL = { limit: 500 };
/** For counts that change with every message. */
const FAST_MS = 2_000;

/** To invalidate after a change of a destination. */
export const HEALTH_KEY = ["health"];

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

/** The URL at which clients send messages: as configured, or else as this browser reached the collector. */
export function useCollectorUrl(): string {
  return useInfo().data?.publicUrl ?? location.origin;
}

function ratesQuery<Answer>(of: readonly string[], span: RateSpan, queryFn: () => Promise<Answer>) {
  const refetchInterval = span === "5m" ? FAST_MS : 5 * FAST_MS;
  return { queryKey: ["rates", ...of, span], queryFn, refetchInterval, placeholderData: keepPreviousData };
}

/** Accepted, delivered and failed messages over time. */
export function useRates(span: RateSpan) {
  const api = useApi();
  return useQuery(ratesQuery([], span, () => api.rates(span)));
}

/** What a destination received over time. */
export function useDestinationRates(id: string, span: RateSpan) {
  const api = useApi();
  return useQuery(ratesQuery([id], span, () => api.destinations.rates(id, span)));
}

/** What is wrong with storage, disk and ingestion, and the open incidents. */
export function useProblems() {
  const api = useApi();
  return useQuery({ queryKey: ["problems"], queryFn: () => api.problems(), refetchInterval: 2 * FAST_MS });
}

/** A whole resource, read again and again. */
function useAll<T>(
  key: string,
  read: (api: ControlApi) => Promise<{ readonly items: readonly T[] }>,
  refetchInterval: number,
) {
  const api = useApi();
  return useQuery({ queryKey: [key], queryFn: async () => (await read(api)).items, refetchInterval });
}

export function useSources() {
  return useAll("sources", ({ sources }) => sources.list(ALL), SLOW_MS);
}

/** The tracking plan of a source; null: it has none. */
export function planQuery(api: ControlApi, sourceId: string) {
  return {
    queryKey: ["source-plan", sourceId],
    queryFn: () =>
      api.sources.plan(sourceId).catch((error: unknown) => {
        if ((error as { code?: string }).code === "not_found") return null;
        throw error;
      }),
  };
}

/** Names of track events that any source sent, with their properties; for suggestions. */
export function useEventNames() {
  const api = useApi();
  return useQuery({
    queryKey: ["event-names"],
    queryFn: async () => (await api.sources.eventNames()).items,
    staleTime: SLOW_MS,
  });
}

export function useDestinations() {
  return useAll("destinations", ({ destinations }) => destinations.list(ALL), SLOW_MS);
}

export function useTransformations() {
  return useAll("transformations", ({ transformations }) => transformations.list(ALL), SLOW_MS);
}

/** The destination types, and the packages that could not be used. */
export function useCatalog() {
  const api = useApi();
  return useQuery({
    queryKey: ["catalog"],
    queryFn: () => api.catalog.list(),
    staleTime: Infinity,
  });
}

/** The health of the collector, every destination and every source: one request for all that a page shows of it. */
export function useHealth() {
  return useQuery(healthQuery(useApi()));
}

/** What each source sent and each destination received in the last hour. */
export function useActivity() {
  const api = useApi();
  return useQuery({ queryKey: ["activity"], queryFn: () => api.activity(), refetchInterval: 5 * FAST_MS });
}

export function useDestinationStatus(id: string) {
  return useQuery({
    ...healthQuery(useApi()),
    select: ({ destinations }: CollectorHealthView) => destinations.find((one) => one.destinationId === id),
  });
}

/** What has to be enabled before anything is sent to a destination: all its URLs, or the destination itself. Undefined: nothing. */
export function useWhatToEnable(): (destinationId: string) => "URL" | "destination" | undefined {
  const statuses = useHealth().data?.destinations ?? [];
  return (id) => {
    const health = statuses.find(({ destinationId }) => destinationId === id)?.health;
    return health === "url_disabled" ? "URL" : health === "disabled" ? "destination" : undefined;
  };
}

function healthQuery(api: ControlApi) {
  return { queryKey: HEALTH_KEY, queryFn: () => api.health(), refetchInterval: FAST_MS };
}

export function useAudiences() {
  return useAll("audiences", ({ audiences }) => audiences.list(ALL), FAST_MS);
}

/** How many members an audience had over time. */
export function useAudienceSizes(id: string, span: SizeSpan) {
  const api = useApi();
  return useQuery({
    queryKey: ["audiences", id, "sizes", span],
    queryFn: () => api.audiences.sizes(id, span),
    refetchInterval: SLOW_MS,
    placeholderData: keepPreviousData,
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
  return useAll("computed-traits", ({ computedTraits }) => computedTraits.list(ALL), SLOW_MS);
}

/** Names of sources and destinations by id. Unknown ids are shortened. */
export function useNames(): { source: (id: string) => string; destination: (id: string) => string } {
  const sources = useSources().data;
  const destinations = useDestinations().data;
  return {
    source: (id) =>
      id === AUDIENCE_SOURCE_ID
        ? "audiences and computed traits"
        : (sources?.find((one) => one.id === id)?.name ?? shortId(id)),
    destination: (id) => destinations?.find((one) => one.id === id)?.name ?? shortId(id),
  };
}

function shortId(id: string): string {
  return id.length > 14 ? `${id.slice(0, 12)}…` : id;
}
