import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import { useDestinations } from "../../api/queries.js";
import { useNotify } from "../../ui/feedback/notice.js";

/** Tries deliveries again at once, under the same message ids. The refusal of one does not hold up the others. */
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
      const begun = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
      if (begun.length > 0)
        notify(
          begun.every(({ destinationId }) => isDisabled(destinationId))
            ? "Queued until the destination is enabled again"
            : "Trying again now",
        );
      const refused = results.find((result) => result.status === "rejected");
      if (refused !== undefined) throw refused.reason;
    },
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["deliveries"] }),
        queries.invalidateQueries({ queryKey: ["message"] }),
      ]),
  });
}
