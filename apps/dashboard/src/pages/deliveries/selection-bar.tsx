import type { OperationFilter, OperationKind } from "@sluice/control-api";
import { useState } from "react";
import { Button } from "../../ui/controls/button.js";
import { Failure, useNotify } from "../../ui/feedback.js";
import { Confirm } from "../../ui/layout/confirm.js";
import { count, counted } from "../../words/numbers.js";
import { useStartOperation } from "./use-operations.js";

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
