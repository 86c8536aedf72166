import type {
  ComputedTraitDefinition,
  ComputedTraitInput,
  ComputedTraitPatch,
  ComputedTraitView,
} from "@sluice/control-api";
import type { ComputedTraitKind } from "@sluice/protocol";
import { type DurationDraft, durationDraft, durationMs } from "../../forms/duration.js";
import { visibleText } from "../../words/messages.js";
import { duration } from "../../words/numbers.js";

export const TRAIT_KINDS: Readonly<Record<ComputedTraitKind, string>> = {
  count: "Count",
  sum: "Sum",
  average: "Average",
  min: "Minimum",
  max: "Maximum",
  most_frequent: "Most frequent value",
  first: "First value",
  last: "Last value",
  unique_list: "List of unique values",
};

/** The words before the property. */
const OF_PROPERTY: Readonly<Record<Exclude<ComputedTraitKind, "count">, string>> = {
  sum: "Sum of",
  average: "Average of",
  min: "Minimum",
  max: "Maximum",
  most_frequent: "Most frequent",
  first: "First",
  last: "Last",
  unique_list: "Unique values of",
};

/** `Sum of total over “Order Completed”, last 30 d`. */
export function traitInWords({ kind, property, event, withinMs }: ComputedTraitView): string {
  const what = kind === "count" ? "Count of" : `${OF_PROPERTY[kind]} ${visibleText(property ?? "")} over`;
  return `${what} “${visibleText(event)}”${withinMs === undefined ? "" : `, last ${duration(withinMs)}`}`;
}

/** Why no user has a value. An event without the property does not count. */
export function noValuesInWords({
  property,
  withinMs,
}: Pick<ComputedTraitView, "property" | "withinMs">): string {
  const having = property === undefined ? "" : ` with the property ${visibleText(property)}`;
  return `No user has this event${having} ${withinMs === undefined ? "yet" : `in the last ${duration(withinMs)}`}.`;
}

/** The form of a computed trait, as typed. */
export interface TraitDraft {
  readonly name: string;
  readonly kind: ComputedTraitKind;
  readonly event: string;
  readonly property: string;
  /** Empty: no limit. */
  readonly within: DurationDraft;
  readonly destinationIds: readonly string[];
  readonly enabled: boolean;
}

export function traitDraftOf(trait: ComputedTraitView | undefined): TraitDraft {
  return {
    name: trait?.name ?? "",
    kind: trait?.kind ?? "count",
    event: trait?.event ?? "",
    property: trait?.property ?? "",
    within: durationDraft(trait?.withinMs),
    destinationIds: trait?.destinationIds ?? [],
    enabled: trait?.enabled ?? true,
  };
}

export function traitOf(draft: TraitDraft): ComputedTraitInput {
  const { name, kind, destinationIds, enabled } = draft;
  return { name: name.trim(), ...definitionOf(draft), kind, destinationIds, enabled };
}

/** `null` removes what was emptied. */
export function traitPatchOf(draft: TraitDraft): ComputedTraitPatch {
  return { property: null, withinMs: null, ...traitOf(draft) };
}

export function definitionOf({ kind, event, property, within }: TraitDraft): ComputedTraitDefinition {
  const withinMs = durationMs(within);
  return {
    kind,
    event: event.trim(),
    ...(kind === "count" || property.trim() === "" ? {} : { property: property.trim() }),
    ...(withinMs === undefined ? {} : { withinMs }),
  };
}

/** Whether the API can evaluate it. */
export function isComplete({ kind, event, property, withinMs }: ComputedTraitDefinition): boolean {
  const isWindow = withinMs === undefined || (Number.isInteger(withinMs) && withinMs >= 1_000);
  return event !== "" && (kind === "count" || property !== undefined) && isWindow;
}
