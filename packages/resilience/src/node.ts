export { PendingCalls } from "./node/pending-calls.js";
export {
  type CallPort,
  type MethodName,
  type PlainFailure,
  type PortClient,
  type PortClientOptions,
  PortClosed,
  portClient,
  type ServeOptions,
  type Server,
  serve,
} from "./node/port-calls.js";
export { startThread, type ThreadOptions } from "./node/start-thread.js";
export { type ThreadRoom, threadLimits } from "./node/thread-limits.js";
