import type { DeliveryView } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import { useNotify } from "../../ui/notice.js";

/** Tries one delivery again at once, under the same message id. */
export function useRetry() {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  return useMutation({
    mutationFn: (delivery: DeliveryView) => api.deliveries.retry(delivery.id),
    onSuccess: () => notify("Trying again now"),
    onSettled: () => queries.invalidateQueries({ queryKey: ["deliveries"] }),
  });
}
