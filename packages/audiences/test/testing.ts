/** What tests and benchmarks of other packages share with the tests of this one. */
export { withOccurrence } from "../src/conditions/aggregate.js";
export { holds } from "../src/conditions/evaluate.js";
export type { UnitResult } from "../src/engine/state/unit-runner.js";
export type { EngineThreadData } from "../src/engine/thread/calls.js";
export { startWorker } from "../src/engine/thread/start-engine-thread.js";
export { audience, computedTrait, EPOCH_MS, removal } from "./definitions/definitions.js";
export { EngineWorld } from "./engine/engine-world.js";
