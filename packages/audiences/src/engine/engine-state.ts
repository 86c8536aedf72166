import type { Offset } from "@sluice/event-log";
import type { AspectProgress, DefinitionState } from "../definitions/definition-state.js";
import type { Plan } from "../definitions/plan.js";
import type { SetAside } from "../profiles/set-aside.js";
import type { Numbers } from "../profiles/step.js";

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
