import type { Audiences } from "@sluice/audiences";
import type { Backups } from "../backups/start-backups.js";
import type { Deletions } from "../deletions/start-deletions.js";
import type { Suppressions } from "../documents/suppressions.js";
import type { Operations } from "../operations/start-operations.js";
import { backupEndpoint } from "./backups/backup-endpoint.js";
import { clusterEndpoints } from "./collector/cluster-endpoints.js";
import { collectorEndpoints } from "./collector/collector-endpoints.js";
import { type CounterSources, countersEndpoint } from "./collector/counters-endpoint.js";
import { type ProblemSources, problemEndpoints } from "./collector/problems-endpoint.js";
import type { AdminContext } from "./context.js";
import { definitionEndpoints } from "./definitions/definition-endpoints.js";
import { deletionEndpoints } from "./deletions/deletion-endpoints.js";
import { deliveryEndpoints } from "./deliveries/delivery-endpoints.js";
import { listGroups } from "./deliveries/list-groups.js";
import { destinationEndpoints } from "./destinations/destination-endpoints.js";
import type { Endpoint } from "./endpoint/endpoint.js";
import { streamLive } from "./live/stream.js";
import { messageEndpoints } from "./messages/message-endpoints.js";
import { operationEndpoints } from "./operations/operation-endpoints.js";
import { sourceEndpoints } from "./sources/source-endpoints.js";
import { tokenEndpoints } from "./tokens/token-endpoints.js";
import { transformationEndpoints } from "./transformations/transformation-endpoints.js";
import type { TrialEndpointsOptions } from "./transformations/trial-endpoints.js";

/** What endpoints need beside the context of every request. */
export interface EndpointParts
  extends CounterSources,
    ProblemSources,
    TrialEndpointsOptions,
    Pick<AdminContext, "store" | "clock" | "cluster"> {
  readonly counters: CounterSources["counters"] & ProblemSources["counters"];
  readonly audiences: Audiences;
  readonly deletions: Deletions;
  readonly suppressions: Suppressions;
  readonly operations: Operations;
  readonly backups: Backups;
}

/** Every endpoint of the control API. */
export function endpointsOf(parts: EndpointParts): readonly Endpoint[] {
  return [
    ...sourceEndpoints,
    ...destinationEndpoints,
    ...messageEndpoints,
    ...deliveryEndpoints,
    streamLive,
    ...tokenEndpoints,
    ...collectorEndpoints,
    countersEndpoint(parts),
    ...problemEndpoints(parts),
    ...definitionEndpoints(parts.audiences),
    ...deletionEndpoints(parts.deletions, parts.suppressions),
    ...operationEndpoints(parts.operations),
    listGroups(parts),
    ...transformationEndpoints(parts),
    backupEndpoint(parts.backups),
    ...clusterEndpoints(parts.cluster),
  ];
}
