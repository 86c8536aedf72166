import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import { useDestinations } from "../../api/queries.js";
import { useNotify } from "../../ui/feedback/notice.js";

/** Retries deliveries now, with the same message ids. If the API refuses one, the others are still retried. */
export function useRetry() {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const destinations = useDestinations().data ?? [];
  const isDisabled = (destinationId: string) =>
    destinations.some(({ id, enabled }) => id === destinationId && !enabled);
  return useMutation({
    mutationFn: async (deliveryIds: readonly string[]) => {
      const results = await Promise.allSettled(deliveryIds.map((id) => api.deliveries.retry(id)));
      const started = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
      if (started.length > 0)
        notify(
          started.every(({ destinationId }) => isDisabled(destinationId))
            ? "Queued until the destination is enabled"
            : "Retrying now",
        );
      const rejected = results.find((result) => result.status === "rejected");
      if (rejected !== undefined) throw rejected.reason;
    },
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["deliveries"] }),
        queries.invalidateQueries({ queryKey: ["message"] }),
      ]),
  });
}
