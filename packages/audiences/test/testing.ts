/** What tests of other packages share with the tests of this one. */
export { audience, computedTrait, EPOCH_MS, removal } from "./definitions/definitions.js";
export { EngineWorld } from "./engine/engine-world.js";
