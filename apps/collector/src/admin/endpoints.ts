import { collectorEndpoints } from "./collector/collector-endpoints.js";
import { deliveryEndpoints } from "./deliveries/delivery-endpoints.js";
import { destinationEndpoints } from "./destinations/destination-endpoints.js";
import type { Endpoint } from "./endpoint/endpoint.js";
import { streamLive } from "./live/stream.js";
import { messageEndpoints } from "./messages/message-endpoints.js";
import { sourceEndpoints } from "./sources/source-endpoints.js";
import { tokenEndpoints } from "./tokens/token-endpoints.js";

/** The endpoints that need nothing but the context. `collector.ts` adds those of audiences, deletions and rates. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...sourceEndpoints,
  ...destinationEndpoints,
  ...messageEndpoints,
  ...deliveryEndpoints,
  streamLive,
  ...tokenEndpoints,
  ...collectorEndpoints,
];
