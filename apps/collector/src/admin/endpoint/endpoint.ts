import {
  type AnswerOf,
  type BodyOf,
  type EndpointKey,
  type EndpointSpec,
  type Method,
  type ParamsOf,
  type QueryOf,
  ENDPOINTS as SPECS,
} from "@sluice/control-api";
import { CollectorError, ERRORS, type ErrorCode } from "../../errors.js";
import type { HttpAnswer, HttpRequest } from "../../http/routing.js";
import type { KnownToken } from "../../tokens/tokens.js";
import type { AdminContext } from "../context.js";

/** The answer to a request without a valid token, with the challenge that RFC 9110 requires on a 401. Throws every other error again. */
export function challenge(error: unknown, advice?: string): HttpAnswer {
  if (!(error instanceof CollectorError) || error.code !== "unauthorized") throw error;
  return {
    status: ERRORS.unauthorized.status,
    headers: challengeHeaders(),
    body: {
      success: false,
      code: error.code,
      message: advice === undefined ? error.message : `${error.message}. ${advice}`,
    },
  };
}

/** Of every answer with status 401. */
function challengeHeaders(): Readonly<Record<string, string>> {
  return { "www-authenticate": 'Bearer realm="sluice"' };
}

/** A request that was checked against the endpoint's schemas. */
export interface EndpointRequest<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The token that sent the request. */
  readonly token: KnownToken;
  /** The version in `If-Match`. */
  readonly ifMatch?: number;
  readonly request: HttpRequest;
}

export interface EndpointAnswer<Body extends object = object> {
  readonly status: number;
  readonly body?: Body;
  readonly headers?: Readonly<Record<string, string>>;
  readonly stream?: NonNullable<HttpAnswer["stream"]>;
  /** Nothing was changed, so the request is neither audited nor stored for its `Idempotency-Key`. */
  readonly isUnchanged?: true;
  /** The answer to a repeated `Idempotency-Key`, if the body names users and must not be stored. Default: the body. */
  readonly kept?: object;
  /** What the audit log says of the change. Default: the request's body. */
  readonly change?: object;
  /** The changed resource, for the audit log. Default: the `:id` of the path, else the `id` of the answer. */
  readonly target?: string;
}

/** An endpoint that is served: its description in the control API, and its handler. */
export interface Endpoint extends Spec {
  readonly method: Method;
  /** Below `/api/v1`, such as `/sources/:id`. */
  readonly path: string;
  handle(
    request: EndpointRequest<Readonly<Record<string, string>>, unknown, unknown>,
    context: AdminContext,
  ): Promise<EndpointAnswer> | EndpointAnswer;
}

type Spec = EndpointSpec & { readonly errors?: readonly ErrorCode[] };
const TABLE: { readonly [K in EndpointKey]: Spec } = SPECS;

type Handle<K extends EndpointKey> = (
  request: EndpointRequest<ParamsOf<K>, QueryOf<K>, BodyOf<K>>,
  context: AdminContext,
) => Promise<EndpointAnswer<AnswerOf<K> & object>> | EndpointAnswer<AnswerOf<K> & object>;

/** Serves the endpoint of that key with a handler, whose types follow from the endpoint's schemas. */
export function endpoint<K extends EndpointKey>(key: K, handle: Handle<K>): Endpoint {
  const space = key.indexOf(" ");
  return {
    ...TABLE[key],
    method: key.slice(0, space) as Method,
    path: key.slice(space + 1),
    handle: handle as unknown as Endpoint["handle"],
  };
}
