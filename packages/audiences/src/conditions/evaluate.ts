import type { Explanation } from "@sluice/control-api";
import type { Condition, EventCondition, Times } from "@sluice/protocol";
import { compare, formatTime } from "@sluice/protocol";

/** What a condition is evaluated on: one user at one moment. */
export interface Reading {
  /** Undefined if the user has no such trait. */
  trait(name: string): unknown;
  /** How often the event was done. */
  count(condition: EventCondition): number;
  isMember(audienceId: string): boolean;
}

export function holds(condition: Condition, reading: Reading): boolean {
  switch (condition.kind) {
    case "and":
      return condition.conditions.every((child) => holds(child, reading));
    case "or":
      return condition.conditions.some((child) => holds(child, reading));
    case "not":
      return !holds(condition.condition, reading);
    case "trait":
      return compare(reading.trait(condition.trait), condition.is, condition.value);
    case "event":
      return isEnough(reading.count(condition), condition.times);
    case "audience":
      return reading.isMember(condition.audienceId);
    default:
      return condition satisfies never;
  }
}

function isEnough(count: number, times: Times): boolean {
  if ("atLeast" in times) return count >= times.atLeast;
  if ("atMost" in times) return count <= times.atMost;
  return count === times.exactly;
}

/** What an explanation shows of an event condition beside the count. */
export interface EventReading {
  readonly lastMs?: number | undefined;
  readonly changesAtMs?: number | undefined;
  /** Whether there may have been more events than were counted. */
  readonly isCapped: boolean;
}

/** Explains why a condition holds or not, node by node. Every node is evaluated, even if the result is clear already. */
export function explain(
  condition: Condition,
  reading: Reading & { event(condition: EventCondition): EventReading },
): Explanation {
  switch (condition.kind) {
    case "and":
    case "or": {
      const conditions = condition.conditions.map((child) => explain(child, reading));
      return { kind: condition.kind, holds: holds(condition, reading), conditions };
    }
    case "not":
      return {
        kind: "not",
        holds: holds(condition, reading),
        condition: explain(condition.condition, reading),
      };
    case "trait": {
      const seen = reading.trait(condition.trait);
      return { ...condition, holds: holds(condition, reading), ...(seen === undefined ? {} : { seen }) };
    }
    case "event": {
      const { lastMs, changesAtMs, isCapped } = reading.event(condition);
      return {
        ...condition,
        holds: holds(condition, reading),
        seen: reading.count(condition),
        ...(isCapped ? { orMore: true } : {}),
        ...(lastMs === undefined ? {} : { lastAt: formatTime(lastMs) }),
        ...(changesAtMs === undefined ? {} : { changesAt: formatTime(changesAtMs) }),
      };
    }
    case "audience":
      return { ...condition, holds: holds(condition, reading) };
    default:
      return condition satisfies never;
  }
}

/** The event conditions of a tree. */
export function eventConditions(condition: Condition): EventCondition[] {
  return leaves(condition).filter((leaf) => leaf.kind === "event");
}

/** The ids of the audiences that a tree names. */
export function audiencesNamed(condition: Condition): string[] {
  return leaves(condition).flatMap((leaf) => (leaf.kind === "audience" ? [leaf.audienceId] : []));
}

/** The names of the traits that a tree compares. */
export function traitsNamed(condition: Condition): string[] {
  return leaves(condition).flatMap((leaf) => (leaf.kind === "trait" ? [leaf.trait] : []));
}

type Leaf = Exclude<Condition, { readonly kind: "and" | "or" | "not" }>;

function leaves(condition: Condition): Leaf[] {
  switch (condition.kind) {
    case "and":
    case "or":
      return condition.conditions.flatMap(leaves);
    case "not":
      return leaves(condition.condition);
    default:
      return [condition];
  }
}
