export type { IngestAnswer, IngestRequest } from "./answer-request.js";
export type { Fault, FaultScript } from "./fake-collector.js";
export {
  type Ending,
  type FakeCollector,
  type FakeCollectorOptions,
  fakeCollector,
} from "./fake-collector.js";
export { type LoopbackCollector, loopbackCollector } from "./loopback-collector.js";
export { memoryTransport } from "./memory-transport.js";
export type { Match, ReceivedMessage, ReceivedRequest, Recorder, WaitOptions } from "./recorder.js";
