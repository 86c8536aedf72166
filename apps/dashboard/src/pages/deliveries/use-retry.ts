import type { DeliveryView } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import { useDestinations } from "../../api/queries.js";
import { useNotify } from "../../ui/notice.js";

/** Tries one delivery again at once, under the same message id. */
export function useRetry() {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const destinations = useDestinations().data ?? [];
  return useMutation({
    mutationFn: (delivery: DeliveryView) => api.deliveries.retry(delivery.id),
    onSuccess: ({ destinationId }) => {
      const isDisabled = destinations.some(({ id, enabled }) => id === destinationId && !enabled);
      notify(isDisabled ? "Queued until the destination is enabled again" : "Trying again now");
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["deliveries"] }),
  });
}
