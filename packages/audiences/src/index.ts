export {
  createAudience,
  createComputedTrait,
  type DefinitionChange,
  patchAudience,
  patchComputedTrait,
  type Removal,
  removeAudience,
  removeComputedTrait,
} from "./definitions/change-definitions.js";
export { computedIssues, conditionIssues, type DefinitionIssue } from "./definitions/definition-issues.js";
export {
  AUDIENCE,
  type AudienceDocument,
  COMPUTED_TRAIT,
  type ComputedTraitDocument,
  type Definition,
} from "./definitions/definitions.js";
export { AudienceEngine } from "./engine/engine.js";
export { storedIdsOf } from "./engine/questions/questions.js";
export type { Audiences, JoiningMessage } from "./engine/runner/audiences.js";
export { startAudiences } from "./engine/runner/start-audiences.js";
export { startEngineThread } from "./engine/thread/start-engine-thread.js";
export type { CrashMarkers } from "./profiles/crash-marker.js";
export { type IdentityPolicy, identityPolicyOf } from "./profiles/identities.js";
export type { RefusedJoin } from "./profiles/refused-joins.js";
