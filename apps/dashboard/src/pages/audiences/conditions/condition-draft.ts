import type { Condition, PropertyTest, Times } from "@sluice/protocol";
import {
  type ComparisonDraft,
  comparisonDraftOf,
  comparisonOf,
  newComparison,
  scalarOf,
} from "../../../forms/comparison/comparison-draft.js";
import { type DurationDraft, durationDraft, durationMs } from "../../../forms/duration/duration-draft.js";

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
export interface TestDraft extends ComparisonDraft {
  readonly node: number;
  readonly name: string;
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
  readonly within: DurationDraft;
  readonly where: readonly TestDraft[];
}
export interface AudienceDraft extends Named {
  readonly kind: "audience";
  readonly audienceId: string;
}

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
    within: { text: "7", unit: "days" },
    where: [],
  };
}
export function newTrait(name = ""): TraitDraft {
  return { ...named(), kind: "trait", name, ...newComparison() };
}
export function newAudience(audienceId: string): AudienceDraft {
  return { ...named(), kind: "audience", audienceId };
}
export function newTest(): TestDraft {
  return { node: named().node, name: "", ...newComparison() };
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
      return { kind: "trait", trait: draft.name.trim(), ...comparisonOf(draft, scalarOf) };
    case "event": {
      const withinMs = durationMs(draft.within);
      return {
        kind: "event",
        event: draft.event.trim(),
        times: { [draft.bound]: Number(draft.times) } as unknown as Times,
        ...(withinMs === undefined ? {} : { withinMs }),
        ...(draft.where.length === 0
          ? {}
          : {
              where: draft.where.map(
                (test): PropertyTest => ({ property: test.name.trim(), ...comparisonOf(test, scalarOf) }),
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

/** A stored condition as a draft; the root is always a group. */
export function draftOf(condition: Condition): GroupDraft {
  const node = draftNode(condition, false);
  return node.kind === "group" ? node : newGroup([node]);
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
      return { ...newTrait(condition.trait), ...comparisonDraftOf(condition), negated };
    case "event": {
      const [bound = "atLeast", times = 1] = Object.entries(condition.times)[0] ?? [];
      return {
        ...newEvent(condition.event),
        negated,
        bound: bound as EventDraft["bound"],
        times: String(times),
        within: durationDraft(condition.withinMs),
        where: (condition.where ?? []).map((test) => ({
          ...newTest(),
          name: test.property,
          ...comparisonDraftOf(test),
        })),
      };
    }
    case "audience":
      return { ...newAudience(condition.audienceId), negated };
    default:
      return condition satisfies never;
  }
}
