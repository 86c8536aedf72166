import { useDestinations, useHealth, useProblems } from "../../api/queries.js";
import { type Problem, problemsOf } from "./problems.js";

/** Everything that is wrong now, the worst first. `isPending`: until it is known what is. */
export function useCurrentProblems(): { readonly isPending: boolean; readonly found: readonly Problem[] } {
  const problems = useProblems();
  const destinations = useDestinations();
  const health = useHealth();
  return {
    isPending: problems.isPending,
    found: problemsOf(problems.data, destinations.data ?? [], health.data?.destinations ?? []),
  };
}
