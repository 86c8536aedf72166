import type { Comparison, Condition, PropertyTest, Scalar, Times } from "@sluice/protocol";

/**
 * A condition tree while somebody builds it. Every node has a name of its own, so that React and the focus keep to it
 * while others come and go; texts are kept as typed and read as values only when the tree is made.
 */
export type DraftNode = GroupDraft | TraitDraft | EventDraft | AudienceDraft;

interface Named {
  readonly node: number;
  /** Holds when the condition does not. */
  readonly negated: boolean;
}
export interface GroupDraft extends Named {
  readonly kind: "group";
  readonly all: boolean;
  readonly children: readonly DraftNode[];
}
export interface TestDraft {
  readonly node: number;
  readonly name: string;
  readonly is: Comparison;
  readonly value: string;
}
export interface TraitDraft extends Named, Omit<TestDraft, "node"> {
  readonly kind: "trait";
}
export interface EventDraft extends Named {
  readonly kind: "event";
  readonly event: string;
  readonly bound: "atLeast" | "atMost" | "exactly";
  readonly times: string;
  /** Empty: ever. */
  readonly within: string;
  readonly unit: WindowUnit;
  readonly where: readonly TestDraft[];
}
export interface AudienceDraft extends Named {
  readonly kind: "audience";
  readonly audienceId: string;
}

export const WINDOW_UNITS = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 } as const;
export type WindowUnit = keyof typeof WINDOW_UNITS;

let lastNode = 0;
function named(): Named {
  lastNode += 1;
  return { node: lastNode, negated: false };
}

export function newGroup(children: readonly DraftNode[] = [], all = true): GroupDraft {
  return { ...named(), kind: "group", all, children };
}
export function newEvent(event = ""): EventDraft {
  return {
    ...named(),
    kind: "event",
    event,
    bound: "atLeast",
    times: "1",
    within: "7",
    unit: "days",
    where: [],
  };
}
export function newTrait(name = ""): TraitDraft {
  return { ...named(), kind: "trait", name, is: "equals", value: "" };
}
export function newAudience(audienceId: string): AudienceDraft {
  return { ...named(), kind: "audience", audienceId };
}
export function newTest(): TestDraft {
  return { node: named().node, name: "", is: "equals", value: "" };
}

/** The tree with one node replaced; with undefined, taken out. */
export function withNode(root: GroupDraft, node: number, change: DraftNode | undefined): GroupDraft {
  if (root.node === node && change?.kind === "group") return change;
  const children = root.children.flatMap((child): DraftNode[] => {
    if (child.node === node) return change === undefined ? [] : [change];
    return [child.kind === "group" ? withNode(child, node, change) : child];
  });
  return { ...root, children };
}

/** The condition as it goes to the API. Nothing is guessed at: what is incomplete is for its validator to name. */
export function conditionOf(draft: DraftNode): Condition {
  const condition = plainCondition(draft);
  return draft.negated ? { kind: "not", condition } : condition;
}

function plainCondition(draft: DraftNode): Condition {
  switch (draft.kind) {
    case "group":
      return { kind: draft.all ? "and" : "or", conditions: draft.children.map(conditionOf) };
    case "trait":
      return { kind: "trait", trait: draft.name.trim(), ...comparisonOf(draft) };
    case "event": {
      const within = Number(draft.within);
      return {
        kind: "event",
        event: draft.event.trim(),
        times: { [draft.bound]: Number(draft.times) } as unknown as Times,
        ...(draft.within.trim() === "" ? {} : { withinMs: Math.round(within * WINDOW_UNITS[draft.unit]) }),
        ...(draft.where.length === 0
          ? {}
          : {
              where: draft.where.map(
                (test): PropertyTest => ({ property: test.name.trim(), ...comparisonOf(test) }),
              ),
            }),
      };
    }
    case "audience":
      return { kind: "audience", audienceId: draft.audienceId };
    default:
      return draft satisfies never;
  }
}

function comparisonOf({ is, value }: Pick<TestDraft, "is" | "value">): Pick<PropertyTest, "is" | "value"> {
  if (is === "exists") return { is };
  if (is === "in") return { is, value: listOf(value) };
  if (is === "contains") return { is, value };
  return value === "" ? { is } : { is, value: scalarOf(value) };
}

/** `42` is a number and `true` a truth; in quotation marks they are text. */
export function scalarOf(text: string): Scalar {
  const trimmed = text.trim();
  if (trimmed === "true") return true;
  if (trimmed === "false") return false;
  if (/^-?(0|[1-9]\d*)(\.\d+)?$/.test(trimmed)) return Number(trimmed);
  if (/^".*"$/s.test(trimmed)) return trimmed.slice(1, -1);
  return text;
}

function listOf(text: string): readonly Scalar[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map(scalarOf);
}

/** The value as somebody would type it; `contains` takes text as it stands. */
function typedOf({ is, value }: { readonly is: Comparison; readonly value?: unknown }): string {
  if (is === "exists") return "";
  return is === "contains" ? String(value) : textOf(value);
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  if (typeof value === "string") return typeof scalarOf(value) === "string" ? value : `"${value}"`;
  return value === undefined ? "" : String(value);
}

/** A stored condition as a draft; the root is always a group. */
export function draftOf(condition: Condition): GroupDraft {
  const node = draftNode(condition, false);
  return node.kind === "group" && !node.negated ? node : newGroup([node]);
}

function draftNode(condition: Condition, negated: boolean): DraftNode {
  switch (condition.kind) {
    case "not":
      return draftNode(condition.condition, !negated);
    case "and":
    case "or":
      return {
        ...newGroup(
          condition.conditions.map((child) => draftNode(child, false)),
          condition.kind === "and",
        ),
        negated,
      };
    case "trait":
      // `exists: false` is the negation of `exists`.
      return {
        ...newTrait(condition.trait),
        is: condition.is,
        value: typedOf(condition),
        negated: condition.is === "exists" && condition.value === false ? !negated : negated,
      };
    case "event": {
      const [bound = "atLeast", times = 1] = Object.entries(condition.times)[0] ?? [];
      return {
        ...newEvent(condition.event),
        negated,
        bound: bound as EventDraft["bound"],
        times: String(times),
        ...windowOf(condition.withinMs),
        where: (condition.where ?? []).map((test) => ({
          ...newTest(),
          name: test.property,
          is: test.is,
          value: typedOf(test),
        })),
      };
    }
    case "audience":
      return { ...newAudience(condition.audienceId), negated };
    default:
      return condition satisfies never;
  }
}

function windowOf(withinMs: number | undefined): Pick<EventDraft, "within" | "unit"> {
  if (withinMs === undefined) return { within: "", unit: "days" };
  const unit = (["days", "hours"] as const).find((one) => withinMs % WINDOW_UNITS[one] === 0) ?? "minutes";
  return { within: String(withinMs / WINDOW_UNITS[unit]), unit };
}
