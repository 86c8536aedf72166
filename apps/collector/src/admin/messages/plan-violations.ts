import type { StoredMessage } from "@sluice/event-log";
import { planIssues } from "@sluice/protocol";
import type { PlanOf } from "../../documents/source-plan.js";

/**
 * How a stored message departs from its source's present plan. Worked out when it is shown: nothing has to be stored with the
 * message, and a new plan shows at once which of the recent messages it would refuse.
 */
export function violationsOf(
  { sourceId, message }: Pick<StoredMessage, "sourceId" | "message">,
  planOf: PlanOf | undefined,
): ReturnType<typeof planIssues> {
  const plan = planOf?.(sourceId)?.plan;
  return plan === undefined ? [] : planIssues(message, plan);
}

/** The same as a field that is absent if there are none. */
export function violationsField(
  stored: Pick<StoredMessage, "sourceId" | "message">,
  planOf: PlanOf | undefined,
) {
  const violations = violationsOf(stored, planOf);
  return violations.length === 0 ? {} : { violations };
}
