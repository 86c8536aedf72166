// The build for edge runtimes, workers and browsers. It has the types of `index.ts`, and the same values: a test compares them.
export {
  ConfigError,
  fetchTransport,
  fromSnakeCase,
  goDefaults,
  rubyDefaults,
} from "@sluice/core";
export { Analytics } from "./edge/edge-analytics.js";
export { undiciTransport } from "./edge/no-undici-transport.js";
