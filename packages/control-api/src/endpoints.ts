import type { TObject, TSchema } from "@sinclair/typebox";
import type { Shape } from "./endpoint.js";
import { healthEndpoints } from "./health.js";
import { audienceEndpoints, profileEndpoints } from "./resources/audiences.js";
import { clusterEndpoints } from "./resources/cluster.js";
import { collectorEndpoints, tokenEndpoints } from "./resources/collector.js";
import { computedTraitEndpoints } from "./resources/computed-traits.js";
import { counterEndpoints } from "./resources/counters.js";
import { deletionEndpoints } from "./resources/deletions.js";
import { deliveryEndpoints } from "./resources/deliveries.js";
import { destinationEndpoints } from "./resources/destinations.js";
import { liveEndpoints, messageEndpoints } from "./resources/messages.js";
import { operationEndpoints } from "./resources/operations.js";
import { sourceEndpoints } from "./resources/sources.js";
import { transformationEndpoints } from "./resources/transformations.js";

/** Every endpoint of the control API, in the order of its documentation. */
export const ENDPOINTS = {
  ...sourceEndpoints,
  ...destinationEndpoints,
  ...transformationEndpoints,
  ...messageEndpoints,
  ...deliveryEndpoints,
  ...operationEndpoints,
  ...liveEndpoints,
  ...tokenEndpoints,
  ...collectorEndpoints,
  ...clusterEndpoints,
  ...healthEndpoints,
  ...counterEndpoints,
  ...audienceEndpoints,
  ...computedTraitEndpoints,
  ...profileEndpoints,
  ...deletionEndpoints,
};
type Endpoints = typeof ENDPOINTS;

/** Method and path of an endpoint, such as `GET /sources/:id`. */
export type EndpointKey = keyof Endpoints;

/** The parameters in an endpoint's path. */
export type ParamsOf<K extends EndpointKey> = { readonly [Name in NamesIn<K>]: string };
type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** The parameters of an endpoint's query. */
export type QueryOf<K extends EndpointKey> = Endpoints[K] extends { readonly query: infer Q extends TObject }
  ? Shape<Q>
  : Record<never, never>;

/** An endpoint's request body; undefined if it takes none. */
export type BodyOf<K extends EndpointKey> = Endpoints[K] extends { readonly body: infer B extends TSchema }
  ? Shape<B>
  : undefined;

/** The body of an endpoint's successful answers; undefined if there is none. */
export type AnswerOf<K extends EndpointKey> = SchemaIn<Endpoints[K]["answer"]> | UnchangedIn<Endpoints[K]>;
type SchemaIn<A> = A extends { readonly schema: infer S extends TSchema } ? Shape<S> : undefined;
type UnchangedIn<E> = E extends { readonly unchangedAnswer: infer A } ? SchemaIn<A> : never;
