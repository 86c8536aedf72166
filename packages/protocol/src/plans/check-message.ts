import { isPlainObject } from "../messages/coerce.js";
import type { UncheckedMessage } from "../messages/message.js";
import { checkValue, startCheck, TooCostly, type Violation } from "./check-value.js";
import type { Schema } from "./plan.js";
import { PLAN_LIMITS, type Plan } from "./plan.js";

const NONE: readonly Violation[] = Object.freeze([]);

/** The steps that are left for the messages of one request. */
export interface StepBudget {
  stepsLeft: number;
}

/** A request's messages share this many steps, so that many small messages cannot cost more than one of their size. */
export function requestBudget(bytes: number): StepBudget {
  return { stepsLeft: PLAN_LIMITS.stepsPerMessage + PLAN_LIMITS.stepsPerByte * bytes };
}

/**
 * How a valid message departs from the plan; empty if it does not. Takes about a millisecond at worst: a message whose check
 * would take longer violates the plan.
 */
export function planViolations(
  message: UncheckedMessage,
  plan: Plan,
  budget: StepBudget = { stepsLeft: PLAN_LIMITS.stepsPerMessage },
): readonly Violation[] {
  const target = targetOf(message, plan);
  if (target.kind === "unchecked") return NONE;
  if (target.kind === "unplanned")
    return plan.unplanned === "allow"
      ? NONE
      : [{ path: target.path, message: "is not in the tracking plan" }];
  const steps = Math.min(PLAN_LIMITS.stepsPerMessage, budget.stepsLeft);
  const check = startCheck(plan.definitions, target.path, steps);
  try {
    checkValue(target.value, target.schema, check);
    return check.violations;
  } catch (error) {
    if (!(error instanceof TooCostly)) throw error;
    return [
      ...check.violations,
      { path: target.path, message: "is too complex to check against the tracking plan" },
    ];
  } finally {
    budget.stepsLeft -= steps - check.stepsLeft;
  }
}

/** A violation of a tracking plan, as the issues of a message are shown. */
export interface PlanIssueOfMessage extends Violation {
  readonly code: "plan_violation";
}

/** {@link planViolations} as issues, whose messages name the field. */
export function planIssues(message: UncheckedMessage, plan: Plan, budget?: StepBudget): PlanIssueOfMessage[] {
  return planViolations(message, plan, budget).map((violation) => ({
    code: "plan_violation",
    path: violation.path,
    message: `${violation.path === "" ? "The message" : `\`${violation.path}\``} ${violation.message}`,
  }));
}

/** Whether the plan has an entry for the message's kind and name. `unchecked`: the plan does not cover the kind. */
export function isPlanned(
  kind: string,
  name: string | undefined,
  plan: Plan,
): "planned" | "unplanned" | "unchecked" {
  if (kind === "track" || kind === "page" || kind === "screen") {
    if (plan[kind] === undefined) return "unchecked";
    return name !== undefined && plan[kind].has(name) ? "planned" : "unplanned";
  }
  const isCovered = (kind === "identify" || kind === "group" || kind === "alias") && plan[kind] !== undefined;
  return isCovered ? "planned" : "unchecked";
}

type Target =
  | { readonly kind: "unchecked" }
  | { readonly kind: "unplanned"; readonly path: string }
  | { readonly kind: "checked"; readonly value: unknown; readonly schema: Schema; readonly path: string };

const UNCHECKED: Target = { kind: "unchecked" };

/** The part of a message that the plan describes, and its schema. */
function targetOf(message: UncheckedMessage, plan: Plan): Target {
  const { type } = message;
  switch (type) {
    case "track":
      return named(plan.track, message.event, "event", message);
    case "page":
    case "screen":
      return named(plan[type], message.name, "name", message);
    case "identify":
    case "group":
      return plan[type] === undefined
        ? UNCHECKED
        : checked(message.traits, withoutRequired(plan[type]), "traits");
    case "alias": {
      const { userId, previousId } = message;
      return plan.alias === undefined ? UNCHECKED : checked({ userId, previousId }, plan.alias, "");
    }
    default:
      return UNCHECKED;
  }
}

function named(
  schemas: ReadonlyMap<string, Schema> | undefined,
  name: unknown,
  path: string,
  message: UncheckedMessage,
): Target {
  if (schemas === undefined) return UNCHECKED;
  const schema = typeof name === "string" ? schemas.get(name) : undefined;
  return schema === undefined
    ? { kind: "unplanned", path }
    : checked(message.properties, schema, "properties");
}

function checked(value: unknown, schema: Schema, path: string): Target {
  return { kind: "checked", value: isPlainObject(value) ? value : {}, schema, path };
}

/** A call may send only the traits that changed. */
function withoutRequired(schema: Schema): Schema {
  const { required: _required, ...rest } = schema;
  return rest;
}
