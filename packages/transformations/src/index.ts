export type { Context, Log, Message, Result, Transform } from "./author.js";
export { checkCode } from "./check-code.js";
export { identifyResults } from "./results.js";
export {
  openSandboxes,
  SANDBOX_DEFAULTS,
  type Sandboxes,
  type SandboxOptions,
  type SandboxStats,
} from "./sandboxes.js";
export {
  type CodeCheck,
  FAILURE_CODES,
  type FailureCode,
  type FixedFields,
  type LogLine,
  type TransformCode,
  type TransformFailure,
  type TransformItem,
  type TransformLanguage,
  type TransformResult,
} from "./transform.js";
