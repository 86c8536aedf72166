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
