import type { DeliveryStateView, DeliveryView, OperationFilter, OperationKind } from "@sluice/control-api";
import { type ReactNode, useState } from "react";
import { Button } from "../../ui/controls/button.js";
import { useStableRows } from "../../ui/data/stable-rows.js";
import { counted } from "../../words/numbers.js";
import { DeliveryTable } from "./delivery-table.js";
import { type Selected, SelectionBar } from "./retry-button.js";

export const SINCE = {
  "15m": { label: "Last 15 minutes", ms: 900_000 },
  "1h": { label: "Last hour", ms: 3_600_000 },
  "24h": { label: "Last 24 hours", ms: 86_400_000 },
  "7d": { label: "Last 7 days", ms: 604_800_000 },
} as const;

/** The filter of the deliveries page, as its address holds it. Empty: no restriction. */
export interface DeliveryFilter {
  readonly destination: string;
  /** Empty: failed and pending. */
  readonly state: DeliveryStateView | "";
  /** Part of the reason. */
  readonly error: string;
  readonly since: keyof typeof SINCE | "";
  /** Of a group: only with `destination`. */
  readonly cause: string;
}

export function filterIn(query: URLSearchParams): DeliveryFilter {
  const since = query.get("since");
  return {
    destination: query.get("destination") ?? "",
    state: (query.get("state") ?? "") as DeliveryStateView | "",
    error: query.get("error") ?? "",
    cause: query.has("destination") ? (query.get("cause") ?? "") : "",
    since: since !== null && Object.hasOwn(SINCE, since) ? (since as keyof typeof SINCE) : "",
  };
}

const keyOf = ({ id }: DeliveryView): string => id;

/** The rows of the list, which keep their places, and what can be done with selected ones. */
export function DeliveryList({
  deliveries,
  filter,
  total,
  empty,
  onRetry,
  onOpen,
}: {
  deliveries: readonly DeliveryView[];
  filter: DeliveryFilter;
  /** Number of deliveries that match, where it is known. */
  total: number | undefined;
  /** Shown instead of an empty list. */
  empty: ReactNode;
  onRetry: (delivery: DeliveryView) => void;
  onOpen: (delivery: DeliveryView) => void;
}) {
  const { rows, newer, showNew } = useStableRows(deliveries, keyOf);
  const [selected, setSelected] = useState<Selected>({ kind: "some", ids: [] });
  const all = operationFilter(filter);
  const ids = new Set(selected.kind === "some" ? selected.ids : rows.map(({ item }) => item.id));
  const toggle = (wanted: readonly string[], isOn: boolean): void => {
    const next = new Set(ids);
    for (const id of wanted) isOn ? next.add(id) : next.delete(id);
    setSelected({ kind: "some", ids: [...next] });
  };
  if (rows.length === 0) return empty;
  return (
    <>
      {newer > 0 && (
        <p className="list-news">
          <Button size="small" onClick={showNew}>
            {newer >= 50 ? "50 or more new deliveries" : counted(newer, "new delivery", "new deliveries")}
          </Button>
        </p>
      )}
      <DeliveryTable
        deliveries={rows.map(({ item }) => item)}
        goneIds={new Set(rows.flatMap(({ item, isGone }) => (isGone ? [item.id] : [])))}
        selection={{ ids, toggle }}
        onRetry={onRetry}
        onOpen={onOpen}
      />
      {ids.size > 0 && (
        <SelectionBar
          selected={selected}
          actions={actionsFor(filter)}
          all={all && { total }}
          onSelectAll={() => all && setSelected({ kind: "all", filter: all, total })}
          onClear={() => setSelected({ kind: "some", ids: [] })}
        />
      )}
    </>
  );
}

/** What can be done with deliveries in the list's state. */
function actionsFor({ state }: DeliveryFilter): readonly OperationKind[] {
  return state === "" || state === "failed" || state === "pending" ? ["retry", "discard"] : ["replay"];
}

/** The list's filter for an operation. Undefined if an operation cannot select the same: by text, or by time of the result. */
function operationFilter({
  destination,
  state,
  cause,
  error,
  since,
}: DeliveryFilter): OperationFilter | undefined {
  if (error !== "" || since !== "") return undefined;
  return {
    ...(destination === "" ? {} : { destinationId: destination }),
    ...(state === "" ? {} : { state }),
    ...(cause === "" ? {} : { cause }),
  };
}
