export {
  type FastifyHandler,
  type FastifyLike,
  type FastifyReplyLike,
  type FastifyRequestLike,
  fastifyHandler,
} from "./adapters/fastify-handler.js";
export { type ExpressRequest, expressHandler, nodeHandler } from "./adapters/node-handler.js";
export { type HonoContextLike, honoHandler, webHandler } from "./adapters/web-handler.js";
export {
  type AliasPayload,
  type Data,
  type DeletePayload,
  type GroupPayload,
  type IdentifyPayload,
  type MemoryDedupeOptions,
  type MessageDedupe,
  memoryDedupe,
  type PagePayload,
  type ParsedPayloads,
  parsePayload,
  parsePayloads,
  type ScreenPayload,
  type TrackPayload,
  type WebhookPayload,
} from "./message.js";
export type { Delivery, ReceiverOptions, Rejection } from "./receiver/receiver-options.js";
export { type RawBody, sign, verify } from "./signature/signature.js";
export {
  type StandardHeaders,
  type StandardVerdict,
  signStandard,
  verifyStandard,
} from "./signature/standard-webhooks.js";
