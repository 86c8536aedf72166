import type { Offset } from "../store/store.js";
import type { AspectProgress, DefinitionState } from "./definition-state.js";
import type { Plan } from "./plan.js";
import type { SetAside } from "./set-aside.js";
import type { Numbers } from "./step.js";

/** What the engine has in memory of its own documents. */
export interface EngineState {
  readonly numbers: Numbers;
  readonly aspects: Map<number, AspectProgress>;
  readonly states: Map<string, DefinitionState>;
  /** Messages that are not counted, oldest first. */
  setAside: readonly SetAside[];
  plan: Plan;
  cursor: Offset;
}
