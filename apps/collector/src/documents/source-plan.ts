import type { Plan } from "@sluice/protocol";
import type { SourcePlanDocument } from "./documents.js";

/** The tracking plan of a source, ready to check messages against. */
export interface SourcePlan {
  readonly mode: SourcePlanDocument["mode"];
  readonly plan: Plan;
}

/** The tracking plan of a source; undefined if it has none. */
export type PlanOf = (sourceId: string) => SourcePlan | undefined;
