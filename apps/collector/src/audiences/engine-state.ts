import type { Offset } from "../store/store.js";
import type { AspectProgress, DefinitionState } from "./definition-state.js";
import type { Plan } from "./plan.js";
import type { Numbers } from "./step.js";

/** What the engine has in memory of its own documents. */
export interface EngineState {
  readonly numbers: Numbers;
  readonly aspects: Map<number, AspectProgress>;
  readonly states: Map<string, DefinitionState>;
  plan: Plan;
  cursor: Offset;
}
