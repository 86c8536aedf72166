import type { EventListView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/queries.js";

/** All events of a source. There are a few thousand at most. */
export function useSourceEvents(sourceId: string) {
  const api = useApi();
  return useQuery({
    queryKey: ["source-events", sourceId],
    queryFn: async (): Promise<EventListView> => {
      const items: EventListView["items"][number][] = [];
      let cursor: string | undefined;
      for (;;) {
        const page = await api.sources.events(sourceId, { limit: 500, cursor });
        items.push(...page.items);
        cursor = page.nextCursor;
        if (cursor === undefined) return { ...page, items };
      }
    },
    refetchInterval: 5_000,
  });
}
