// The engine of a replicated store on NATS JetStream. Load it with `import()`: only clusters need it.

export { EngineRefused, isAway, REFUSALS, type RefusalCode } from "./api-errors.js";
export type { NatsCredentials, NatsTls } from "./connection.js";
export { type JetStreamEngine, type JetStreamOptions, openJetStream } from "./open-jetstream.js";
export type { ClusterIdentity } from "./streams/stream-settings.js";
