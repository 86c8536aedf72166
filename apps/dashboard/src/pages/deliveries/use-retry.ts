import type { OperationView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import type { ControlApi } from "../../api/control-api.js";
import { useDestinations } from "../../api/queries.js";
import { useNotify } from "../../ui/feedback/notice.js";
import { isRunning } from "./operation-words.js";

const ASK_EVERY_MS = 400;
/** A receiver has 5 s to respond. */
const WAIT_MS = 8_000;

/** Retries deliveries now, with the same message ids, and says what came of it. */
export function useRetry() {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const destinations = useDestinations().data ?? [];
  const isDisabled = (deliveryId: string) =>
    destinations.some(({ id, enabled }) => !enabled && deliveryId.startsWith(`${id}.`));
  return useMutation({
    mutationFn: async (deliveryIds: readonly string[]) => {
      const started = await api.operations.create({ kind: "retry", ids: [...deliveryIds] });
      if (deliveryIds.every(isDisabled)) notify("Queued until the destination is enabled");
      else {
        notify("Retrying now");
        notify(resultWords(await ended(api, started)));
      }
    },
    onSettled: () =>
      Promise.all(
        [["deliveries"], ["delivery-groups"], ["operations"], ["message"]].map((queryKey) =>
          queries.invalidateQueries({ queryKey }),
        ),
      ),
  });
}

/** The operation when it has ended, or as it is after a while. */
async function ended(api: ControlApi, started: OperationView): Promise<OperationView> {
  let operation = started;
  for (let waitedMs = 0; isRunning(operation) && waitedMs < WAIT_MS; waitedMs += ASK_EVERY_MS) {
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    operation = await api.operations.get(started.id);
  }
  return operation;
}

function resultWords({ results, causes, total }: OperationView): string {
  const [cause] = causes;
  if (cause !== undefined) return `Failed again: ${cause.title}`;
  if (results.delivered === total && total > 0) return "Delivered";
  if (results.skipped === total && total > 0) return "Not retried: it is already delivered or being sent";
  return "Retrying: no result yet";
}
