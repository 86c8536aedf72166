export { withOccurrence } from "./conditions/aspect.js";
export { holds } from "./conditions/evaluate.js";
export {
  computedIssues,
  conditionIssues,
  createAudience,
  createComputedTrait,
  type DefinitionChange,
  type DefinitionIssue,
  patchAudience,
  patchComputedTrait,
  type Removal,
  removeAudience,
  removeComputedTrait,
} from "./definitions/change-definitions.js";
export {
  AUDIENCE,
  type AudienceDocument,
  COMPUTED_TRAIT,
  type ComputedTraitDocument,
  type Definition,
} from "./definitions/definitions.js";
export { AudienceEngine, type StepResult } from "./engine/engine.js";
export { type Audiences, startAudiences } from "./engine/start-audiences.js";
export type { EngineThreadOptions } from "./engine/thread/calls.js";
export { startEngineThread, startWorker } from "./engine/thread/start-engine-thread.js";
export { type IdentityPolicy, identityPolicyOf } from "./profiles/identity-policy.js";
export { AUDIENCE_SOURCE_ID } from "./profiles/owed-message.js";
export type { RefusedJoin } from "./profiles/refused-joins.js";
