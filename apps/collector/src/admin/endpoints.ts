import type { Audiences } from "@sluice/audiences";
import type { ClusterView, DeliveryGroupView } from "@sluice/control-api";
import type { Store } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { Backups } from "../backups/start-backups.js";
import type { Deletions } from "../deletions/start-deletions.js";
import type { Suppressions } from "../documents/suppressions.js";
import { CollectorError } from "../errors.js";
import type { Operations } from "../operations/start-operations.js";
import { backupEndpoint } from "./backups/backup-endpoint.js";
import type { ClusterControl } from "./collector/cluster-control.js";
import { collectorEndpoints } from "./collector/collector-endpoints.js";
import { type CounterSources, countersEndpoint } from "./collector/counters-endpoint.js";
import { type ProblemSources, problemEndpoints } from "./collector/problems-endpoint.js";
import type { AdminContext } from "./context.js";
import { definitionEndpoints } from "./definitions/definition-endpoints.js";
import { deletionEndpoints } from "./deletions/deletion-endpoints.js";
import { deliveryEndpoints, deliveryView } from "./deliveries/delivery-endpoints.js";
import { type DeliveryGroup, groupReader, groupView } from "./deliveries/delivery-groups.js";
import { destinationEndpoints } from "./destinations/destination-endpoints.js";
import { withoutUndefined } from "./document-resource.js";
import type { Endpoint } from "./endpoint/endpoint.js";
import { endpoint } from "./endpoint/endpoint.js";
import { untilRevoked } from "./endpoint/until-revoked.js";
import { readLive } from "./live/live-reader.js";
import { readPosition } from "./live/server-sent-event.js";
import { maskFor } from "./masking.js";
import { readFilter } from "./messages/filter-query.js";
import { messageEndpoints } from "./messages/message-endpoints.js";
import { attemptsOf } from "./messages/outcomes.js";
import { type BodySources, requestBodyOf } from "./messages/request-body.js";
import { operationEndpoints } from "./operations/operation-endpoints.js";
import { pageOfDocuments } from "./paging.js";
import { sourceEndpoints } from "./sources/source-endpoints.js";
import { tokenEndpoints } from "./tokens/token-endpoints.js";
import { transformationEndpoints } from "./transformations/transformation-endpoints.js";
import type { TrialEndpointsOptions } from "./transformations/trial-endpoints.js";

/** `GET /delivery-groups`. */
function listGroups({ store, clock }: { readonly store: Store; readonly clock: Clock }): Endpoint {
  const read = groupReader(store, clock);
  return endpoint("GET /delivery-groups", async ({ query, token }, context) => {
    const { groups, isExact } = await read();
    const wanted = groups.filter(
      ({ destinationId }) => (query.destinationId ?? destinationId) === destinationId,
    );
    const page = pageOfDocuments(wanted, query);
    const items = await Promise.all(page.items.map((group) => withExample(context, group)));
    return { status: 200, body: { ...page, items: items.map((item) => maskFor(token, item)), isExact } };
  });
}

/** How much of a request body an example shows: a page has up to 500 groups. */
const EXAMPLE_BYTES = 4_096;

/** Reads one message for each group that is shown. */
async function withExample(sources: BodySources, group: DeliveryGroup): Promise<DeliveryGroupView> {
  const { store } = sources;
  const view = groupView(group);
  const [stored, outcomes] = await Promise.all([
    store.log.get(group.newest),
    store.consumers.outcomesOf(group.newest, group.destinationId),
  ]);
  const [delivery] = outcomes;
  if (stored === undefined || delivery === undefined) return view;
  const { attempts: _, ...shown } = deliveryView(delivery, stored);
  const attempts = await attemptsOf(store, group.destinationId, stored);
  const attempt = attempts.findLast(({ error }) => error !== undefined) ?? attempts.at(-1);
  if (attempt === undefined) return { ...view, example: shown };
  const requestBody = await requestBodyOf(sources, group.destinationId, stored, EXAMPLE_BYTES);
  return { ...view, example: withoutUndefined({ ...shown, attempt, requestBody }) };
}

const streamLive = endpoint("GET /live", ({ query, request, token }, context) => {
  const { store, recent, live, clock, tokens, planOf, streams } = context;
  const filter = readFilter(query.q);
  const lastEventId = request.headers["last-event-id"];
  const resumeFrom = readPosition(typeof lastEventId === "string" ? lastEventId : undefined);
  request.signal.addEventListener("abort", streams.open(token.id), { once: true });
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" },
    async stream(write, requestSignal, requestDrained) {
      const { signal, stop } = untilRevoked(requestSignal, tokens, token);
      const drained = () => orAborted(requestDrained(), signal);
      try {
        await readLive({
          ...{ store, recent, live, planOf, clock, filter, token, resumeFrom },
          ...{ write, drained, signal },
        });
      } finally {
        stop();
      }
    },
  };
});

/** Resolves when `promise` does or `signal` aborts. Leaves no listener behind. */
async function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done, { once: true });
    promise.then(done, done);
  });
}

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

function clusterEndpoints(cluster: ClusterControl | undefined): readonly Endpoint[] {
  const present = (): ClusterControl => {
    if (cluster !== undefined) return cluster;
    throw new CollectorError("not_found", "this collector runs on its own: it is not part of a cluster");
  };
  return [
    endpoint("GET /cluster", () => ({ status: 200, body: present().view() })),
    endpoint("POST /cluster/members/:node/drain", async ({ params: { node } }) => {
      const control = present();
      if (hasNoSuccessor(control.view(), node))
        throw new CollectorError(
          "conflict",
          `${node} is the only process that can own the log: start another one, or cancel the drain of another one, first`,
        );
      if (!(await control.drain(node))) throw unknown(node);
      return { status: 200, body: control.view(), target: node };
    }),
    endpoint("DELETE /cluster/members/:node/drain", async ({ params: { node } }) => {
      const control = present();
      if (!(await control.undrain(node))) throw unknown(node);
      return { status: 200, body: control.view(), target: node };
    }),
  ];
}

function hasNoSuccessor({ members }: ClusterView, node: string): boolean {
  const isKnown = members.some((member) => member.node === node);
  return (
    isKnown &&
    !members.some((member) => member.node !== node && member.isAlive && member.isReady && !member.isDrained)
  );
}

function unknown(node: string): CollectorError {
  return new CollectorError("not_found", `the cluster has no process named ${node}`);
}
