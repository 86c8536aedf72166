import { KB } from "../limits.js";
import type { Definitions, Schema } from "./schema.js";

/** How large a plan may be, so that reading it and holding messages to it stay cheap. */
export const PLAN_LIMITS = {
  /** Of the JSON. */
  bytes: 200 * KB,
  /** Names of events, pages and screens, together. */
  names: 2_000,
  definitions: 500,
  /** Schemas, those within schemas included. */
  schemas: 20_000,
  /** Schemas within schemas. */
  depth: 32,
  patternLength: 200,
  /** Instructions of all patterns: `a{999}` has 999. */
  patternInstructions: 50_000,
  /** Steps of the checks of one message: about a millisecond. */
  stepsPerMessage: 20_000,
  /** Steps of the checks of one request's messages, for each of its bytes. */
  stepsPerByte: 4,
  /** A message shows this many violations. */
  violations: 10,
} as const;

/** The kinds whose messages have names. */
export const NAMED_KINDS = ["track", "page", "screen"] as const;
/** The kinds whose messages have none. */
export const UNNAMED_KINDS = ["identify", "group", "alias"] as const;

/** A tracking plan that was read and is free of mistakes. */
export interface Plan {
  readonly name?: string;
  readonly description?: string;
  /** Name → properties. A kind that is absent is not planned: its messages are not checked. */
  readonly track?: ReadonlyMap<string, Schema>;
  readonly page?: ReadonlyMap<string, Schema>;
  readonly screen?: ReadonlyMap<string, Schema>;
  readonly identify?: Schema;
  readonly group?: Schema;
  readonly alias?: Schema;
  /** What messages are whose name the plan does not list. */
  readonly unplanned: "allow" | "violation";
  readonly definitions: Definitions;
}

/** A mistake in a plan. */
export interface PlanIssue {
  /** A JSON pointer: `/track/Order Completed/properties/total/type`. */
  readonly path: string;
  readonly message: string;
}
