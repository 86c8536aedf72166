import type { OperationFilter, OperationKind, OperationView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import type { ControlApi } from "../../api/control-api.js";
import { useApi, useDestinations, useWhatToEnable } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { Failure, useNotify } from "../../ui/feedback.js";
import { Confirm } from "../../ui/layout/dialog.js";
import { count, counted } from "../../words/numbers.js";
import { isRunning, useStartOperation } from "./operations-card.js";

/** The deliveries to act on: those that were selected, or all that match the list's filter. */
export type Selected =
  | { readonly kind: "some"; readonly ids: readonly string[] }
  | { readonly kind: "all"; readonly filter: OperationFilter; readonly total: number | undefined };

/** Retries, replays or discards what is selected, and offers to select all that match. */
export function SelectionBar({
  selected,
  actions,
  all,
  onSelectAll,
  onClear,
}: {
  selected: Selected;
  actions: readonly OperationKind[];
  /** Everything that matches. Undefined if that cannot be selected. */
  all: { readonly total: number | undefined } | undefined;
  onSelectAll: () => void;
  onClear: () => void;
}) {
  const start = useStartOperation();
  const notify = useNotify();
  const [isDiscarding, setDiscarding] = useState(false);
  const isAll = selected.kind === "all";
  const number = isAll ? selected.total : selected.ids.length;
  const words = number === undefined ? "all that match" : counted(number, "delivery", "deliveries");
  const run = (kind: OperationKind) =>
    start.mutate(
      { kind, ...(isAll ? { filter: selected.filter } : { ids: [...selected.ids] }) },
      {
        onSuccess: () => {
          notify(`${WORDS[kind].started} ${words}`);
          setDiscarding(false);
          onClear();
        },
      },
    );
  return (
    <section className="selection-bar" aria-label="Selected deliveries">
      <p className="grow" aria-live="polite">
        <strong>
          {isAll ? `All ${number === undefined ? "" : count(number)} that match` : `${words} selected`}
        </strong>{" "}
        {!isAll && all !== undefined && (
          <button type="button" className="text-button" onClick={onSelectAll}>
            Select all {all.total === undefined ? "" : `${count(all.total)} `}that match
          </button>
        )}
      </p>
      {actions.map((kind) => (
        <Button
          key={kind}
          size="small"
          look={kind === "discard" ? "plain" : "primary"}
          {...(kind === "discard" ? {} : { icon: "replay" as const })}
          busy={start.isPending}
          onClick={() => (kind === "discard" ? setDiscarding(true) : run(kind))}
        >
          {WORDS[kind].action}
        </Button>
      ))}
      <Button size="small" look="quiet" onClick={onClear}>
        Clear selection
      </Button>
      {start.isError && !isDiscarding && <Failure error={start.error} />}
      <Confirm
        open={isDiscarding}
        title={`Discard ${words}?`}
        action="Discard"
        busy={start.isPending}
        error={isDiscarding ? start.error : undefined}
        onConfirm={() => run("discard")}
        onClose={() => setDiscarding(false)}
      >
        <p>
          They are not sent any more. The messages stay stored, and each shows who discarded it. You can
          replay them later.
        </p>
      </Confirm>
    </section>
  );
}

const WORDS: Readonly<Record<OperationKind, { readonly action: string; readonly started: string }>> = {
  retry: { action: "Retry", started: "Retrying" },
  replay: { action: "Replay", started: "Replaying" },
  discard: { action: "Discard", started: "Discarding" },
};

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
