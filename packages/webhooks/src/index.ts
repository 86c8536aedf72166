export { type ExpressRequest, expressHandler } from "./express-handler.js";
export {
  type FastifyHandler,
  type FastifyLike,
  type FastifyReplyLike,
  type FastifyRequestLike,
  fastifyHandler,
} from "./fastify-handler.js";
export { type HonoContextLike, honoHandler } from "./hono-handler.js";
export { type MemoryDedupeOptions, type MessageDedupe, memoryDedupe } from "./message-dedupe.js";
export { nodeHandler } from "./node-handler.js";
export {
  type AliasPayload,
  type Data,
  type DeletePayload,
  type GroupPayload,
  type IdentifyPayload,
  type PagePayload,
  parsePayload,
  type ScreenPayload,
  type TrackPayload,
  type WebhookPayload,
} from "./payload.js";
export type { Delivery, ReceiverOptions, Rejection } from "./receive.js";
export { type RawBody, sign, verify } from "./signature.js";
export {
  type StandardHeaders,
  type StandardVerdict,
  signStandard,
  verifyStandard,
} from "./standard-webhooks.js";
export { webHandler } from "./web-handler.js";
