import type { Scenario } from "./scenario/scenario.js";

/** Whether a scenario still fails in the same way. */
export type StillFails = (scenario: Scenario) => Promise<boolean>;

/**
 * Finds a small scenario that still fails: leaves out steps, first many and then single ones, and then applications and destinations
 * that no step needs. `mostRuns` bounds the work.
 */
export async function shrink(scenario: Scenario, stillFails: StillFails, mostRuns = 200): Promise<Scenario> {
  let smallest = scenario;
  let runs = 0;
  const take = async (candidate: Scenario): Promise<boolean> => {
    runs += 1;
    if (!(await stillFails(candidate))) return false;
    smallest = candidate;
    return true;
  };
  for (let size = Math.ceil(scenario.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < smallest.steps.length && runs < mostRuns; ) {
      const steps = smallest.steps.filter((_, index) => index < from || index >= from + size);
      if (!(await take({ ...smallest, steps }))) from += size;
    }
  }
  for (const candidate of [...withFewerMessages(smallest), ...withFewerDestinations(smallest)])
    if (runs < mostRuns) await take(candidate);
  return smallest;
}

/** Each step with a single message. */
function* withFewerMessages({ steps, ...rest }: Scenario): Generator<Scenario> {
  if (steps.some((step) => step.kind === "messages" && step.count > 1))
    yield { ...rest, steps: steps.map((step) => (step.kind === "messages" ? { ...step, count: 1 } : step)) };
}

/** Without destinations at the end of the list, whose removal does not change the numbers of the others. */
function* withFewerDestinations({ destinations, steps, ...rest }: Scenario): Generator<Scenario> {
  for (let count = 1; count < destinations.length; count++)
    yield { ...rest, steps, destinations: destinations.slice(0, count) };
}
