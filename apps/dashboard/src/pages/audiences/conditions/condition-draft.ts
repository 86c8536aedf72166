import type { Explanation } from "@sluice/control-api";
import type { Condition, PropertyTest, Times } from "@sluice/protocol";
import {
  type ComparisonDraft,
  comparisonDraftOf,
  comparisonOf,
  newComparison,
  scalarOf,
} from "../../../forms/comparison/comparison-draft.js";
import { comparisonInWords } from "../../../forms/comparison/comparison-words.js";
import { type DurationDraft, durationDraft, durationMs } from "../../../forms/duration.js";
import { visibleText } from "../../../words/messages.js";
import { duration } from "../../../words/numbers.js";

/** One condition in words, without its children. `nameOf` returns the name of an audience. */
export function conditionInWords(
  condition: Condition | Explanation,
  nameOf: (audienceId: string) => string,
): string {
  switch (condition.kind) {
    case "and":
      return "All of these";
    case "or":
      return "Any of these";
    case "not":
      return "Not";
    case "trait":
      return `Trait ${comparisonInWords(condition.trait, condition.is, condition.value)}`;
    case "event": {
      const where = "where" in condition ? ((condition.where ?? []) as readonly PropertyTest[]) : [];
      const tests = where.map((test) => comparisonInWords(test.property, test.is, test.value)).join(" and ");
      return `Did “${visibleText(condition.event)}” ${timesInWords(condition.times)}${
        condition.withinMs === undefined ? "" : ` within the last ${duration(condition.withinMs)}`
      }${tests === "" ? "" : `, where ${tests}`}`;
    }
    case "audience":
      return `Member of “${visibleText(nameOf(condition.audienceId))}”`;
    default:
      return condition satisfies never;
  }
}

/** The conditions inside a condition. */
export function childrenOf<Node extends Condition | Explanation>(node: Node): readonly Node[] {
  if (node.kind === "and" || node.kind === "or") return node.conditions as readonly Node[];
  return node.kind === "not" ? [node.condition as Node] : [];
}

function timesInWords(times: Times): string {
  const [bound, number] = Object.entries(times)[0] ?? ["atLeast", 1];
  const word = bound === "atLeast" ? "at least" : bound === "atMost" ? "at most" : "exactly";
  return `${word} ${number === 1 ? "once" : `${number} times`}`;
}

/**
 * The condition tree of the builder. Each node has an id, so that React keeps its fields and the focus while other nodes
 * are added and removed. Texts are kept as typed; `conditionOf` parses them.
 */
export type DraftNode = GroupDraft | TraitDraft | EventDraft | AudienceDraft;

interface DraftBase {
  readonly node: number;
  /** Inverts the condition. */
  readonly negated: boolean;
}
export interface GroupDraft extends DraftBase {
  readonly kind: "group";
  readonly all: boolean;
  readonly children: readonly DraftNode[];
}
export interface TestDraft extends ComparisonDraft {
  readonly node: number;
  readonly name: string;
}
export interface TraitDraft extends DraftBase, Omit<TestDraft, "node"> {
  readonly kind: "trait";
}
export interface EventDraft extends DraftBase {
  readonly kind: "event";
  readonly event: string;
  readonly bound: "atLeast" | "atMost" | "exactly";
  readonly times: string;
  /** Empty: no limit. */
  readonly within: DurationDraft;
  readonly where: readonly TestDraft[];
}
export interface AudienceDraft extends DraftBase {
  readonly kind: "audience";
  readonly audienceId: string;
}

let lastNode = 0;
function newBase(): DraftBase {
  lastNode += 1;
  return { node: lastNode, negated: false };
}

export function newGroup(children: readonly DraftNode[] = [], all = true): GroupDraft {
  return { ...newBase(), kind: "group", all, children };
}
export function newEvent(event = ""): EventDraft {
  return {
    ...newBase(),
    kind: "event",
    event,
    bound: "atLeast",
    times: "1",
    within: { text: "7", unit: "days" },
    where: [],
  };
}
export function newTrait(name = ""): TraitDraft {
  return { ...newBase(), kind: "trait", name, ...newComparison() };
}
export function newAudience(audienceId: string): AudienceDraft {
  return { ...newBase(), kind: "audience", audienceId };
}
export function newTest(): TestDraft {
  return { node: newBase().node, name: "", ...newComparison() };
}

/** Replaces one node of the tree; with undefined, removes it. */
export function withNode(root: GroupDraft, node: number, change: DraftNode | undefined): GroupDraft {
  if (root.node === node && change?.kind === "group") return change;
  const children = root.children.flatMap((child): DraftNode[] => {
    if (child.node === node) return change === undefined ? [] : [change];
    return [child.kind === "group" ? withNode(child, node, change) : child];
  });
  return { ...root, children };
}

/** The condition for the API. Incomplete parts stay incomplete, so that the validator reports them. */
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

/** The draft of a stored condition. The root is always a group. */
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
