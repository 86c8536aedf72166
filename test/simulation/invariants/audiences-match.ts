import { type Condition, resolveTime } from "@sluice/protocol";
import {
  isMember,
  type PastMessage,
  people,
} from "../../../packages/audiences/test/conditions/naive-evaluator.js";
import type { Scenario } from "../scenario/scenario.js";
import type { Invariant } from "./invariant.js";

/** A window that ended this short before the end of the run may still count. */
const JUST_LEFT_MS = 10 * 60_000;

/** Audiences, against an evaluator that reads the whole log. */
export const audiencesMatch: Invariant = {
  name: "audiences-match",
  promise:
    "What destinations were told about a user's audiences is what an evaluation of the whole log says, also when an event leaves a time window, and nobody is told the same twice in a row.",
  check({ scenario, cast, messages, dropped, audiences }) {
    const wrong: string[] = [];
    // Notices and events are gone.
    if (dropped.length > 0) return wrong;
    const own = new Set(cast.sources.map(({ id }) => id));
    const history: PastMessage[] = messages
      .filter(({ sourceId, onlyDestinations }) => own.has(sourceId) && onlyDestinations === undefined)
      .map(
        ({ message, receivedAtMs }) =>
          ({
            ...message,
            atMs: Math.min(resolveTime(message, receivedAtMs), receivedAtMs),
          }) as unknown as PastMessage,
      );
    const nowMs = cast.collector.machine.wallMs;
    const everybody = people(history);
    const definitions = {
      audiences: new Map(audiences.map(({ id, value }) => [id, value.condition])),
      computed: [],
    };
    const deleted = new Set(cast.history.deletions.map(({ user }) => user));
    for (const { id, value } of audiences) {
      if (hasWindow(value.condition) && isSetBack(scenario)) continue;
      for (const destinationId of value.destinationIds) {
        const told = new Map<string, unknown>();
        for (const { message, onlyDestinations } of messages) {
          const traits = message.traits as Readonly<Record<string, unknown>> | undefined;
          const user = String(message.userId);
          if (onlyDestinations?.includes(destinationId) !== true || traits?.[value.key] === undefined)
            continue;
          if (deleted.has(user)) continue;
          if (told.get(user) === traits[value.key])
            wrong.push(
              `${destinationId} was told twice that ${user} in ${value.key} is ${String(traits[value.key])}`,
            );
          told.set(user, traits[value.key]);
        }
        for (const person of everybody) {
          const user = person.id.slice(2);
          if (deleted.has(user)) continue;
          const expected = isMember(person, id, definitions, nowMs);
          if (isMember(person, id, definitions, nowMs - JUST_LEFT_MS) !== expected) continue;
          if ((told.get(user) ?? false) !== expected)
            wrong.push(
              `${destinationId} believes ${user} in ${value.key}: ${String(told.get(user))}, expected ${expected}`,
            );
        }
      }
    }
    return wrong;
  },
};

function hasWindow(condition: Condition): boolean {
  if (condition.kind === "and" || condition.kind === "or") return condition.conditions.some(hasWindow);
  if (condition.kind === "not") return hasWindow(condition.condition);
  return condition.kind === "event" && condition.withinMs !== undefined;
}

/** Whether the collector's clock was set back. An event that had left a window by the later time does not come back. */
function isSetBack({ steps }: Scenario): boolean {
  return steps.some(
    (step) => (step.kind === "clock" || step.kind === "crash") && step.of === "collector" && step.jumpMs < 0,
  );
}
