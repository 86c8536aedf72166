export {
  type AdminClient,
  adminClient,
  type DeliverySearch,
  type MessageSearch,
  type PageOptions,
  type RejectedSearch,
  type WaitFor,
} from "./admin-client.js";
export { AdminError, AdminUnreachable } from "./admin-error.js";
export type { LiveItem, LiveOptions } from "./live-stream.js";
export type { AdminClientOptions } from "./request.js";
export { allPages } from "./request.js";
