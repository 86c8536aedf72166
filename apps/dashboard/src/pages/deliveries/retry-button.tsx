import type { OperationView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/api-context.js";
import type { ControlApi } from "../../api/control-api.js";
import { useDestinations, useWhatToEnable } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { useNotify } from "../../ui/feedback.js";
import { isRunning } from "./use-operations.js";

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

/** Retries what failed at a destination. A link to the cure instead if a retry cannot help: nothing is sent to disabled URLs and destinations. */
export function RetryButton({
  destinationId,
  busy,
  label,
  onRetry,
  children = "Retry",
}: {
  destinationId: string;
  busy?: boolean;
  /** For screen readers, where many buttons are the same. */
  label?: string;
  onRetry: () => void;
  children?: ReactNode;
}) {
  const toEnable = useWhatToEnable()(destinationId);
  if (toEnable !== undefined)
    return (
      <Link className="small no-break" href={addresses.destination(destinationId)}>
        Enable {toEnable}
      </Link>
    );
  return (
    <Button size="small" icon="replay" busy={busy ?? false} aria-label={label} onClick={onRetry}>
      {children}
    </Button>
  );
}
