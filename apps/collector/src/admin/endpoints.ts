import { listAudit } from "./audit/list.js";
import { listCatalog } from "./catalog/list.js";
import { collectorInfo } from "./collector/info.js";
import { resetCollector } from "./collector/reset.js";
import { getDelivery } from "./deliveries/get.js";
import { listDeliveries } from "./deliveries/list.js";
import { retryDelivery } from "./deliveries/retry.js";
import { createDestination } from "./destinations/create.js";
import { deleteDestination } from "./destinations/delete.js";
import { getDestination } from "./destinations/get.js";
import { listDestinations } from "./destinations/list.js";
import { patchDestination } from "./destinations/patch.js";
import { destinationStatus } from "./destinations/status.js";
import { testDestination } from "./destinations/test.js";
import type { Endpoint } from "./endpoint.js";
import { streamLive } from "./live/stream.js";
import { getMessage } from "./messages/get.js";
import { listMessages } from "./messages/list.js";
import { listRejected } from "./messages/list-rejected.js";
import { waitForMessage } from "./messages/wait.js";
import { createReplay } from "./replays/create.js";
import { addWriteKey } from "./sources/add-write-key.js";
import { createSource } from "./sources/create.js";
import { deleteSource } from "./sources/delete.js";
import { getSource } from "./sources/get.js";
import { listSources } from "./sources/list.js";
import { patchSource } from "./sources/patch.js";
import { removeWriteKey } from "./sources/remove-write-key.js";
import { sourceUsage } from "./sources/usage.js";
import { createToken } from "./tokens/create.js";
import { listTokens } from "./tokens/list.js";
import { revokeToken } from "./tokens/revoke.js";

/**
 * Every endpoint of the control API, in the order of its documentation. One that is listed here is served, checked,
 * audited and documented; there is no other list.
 */
export const ENDPOINTS: readonly Endpoint[] = [
  createSource,
  listSources,
  getSource,
  patchSource,
  deleteSource,
  sourceUsage,
  addWriteKey,
  removeWriteKey,
  listCatalog,
  createDestination,
  listDestinations,
  getDestination,
  patchDestination,
  deleteDestination,
  testDestination,
  destinationStatus,
  listMessages,
  getMessage,
  listRejected,
  waitForMessage,
  listDeliveries,
  getDelivery,
  retryDelivery,
  createReplay,
  streamLive,
  createToken,
  listTokens,
  revokeToken,
  listAudit,
  collectorInfo,
  resetCollector,
];
