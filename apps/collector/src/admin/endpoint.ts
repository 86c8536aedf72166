import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { ErrorCode } from "../errors.js";
import type { HttpAnswer, HttpRequest } from "../http/routing/route.js";
import type { KnownToken } from "../tokens/tokens.js";
import type { AdminContext } from "./context.js";

/** What a handler is asked, checked against the endpoint's schemas. */
export interface Asked<Body, Query> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** Whose request it is. */
  readonly token: KnownToken;
  /** The version that `If-Match` named. */
  readonly ifMatch?: number;
  readonly request: HttpRequest;
}

export interface EndpointAnswer {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly stream?: NonNullable<HttpAnswer["stream"]>;
  /** Nothing was changed: it is neither written to the audit log nor kept for the request's `Idempotency-Key`. */
  readonly isUnchanged?: true;
  /** What a repeated `Idempotency-Key` is answered, where the body names users: it is stored. Default: the body. */
  readonly kept?: object;
  /** What was changed, for the audit log. Default: the `:id` of the path, else the `id` of the answer. */
  readonly target?: string;
}

interface EndpointSpec<B extends TSchema, Q extends TObject> {
  /** `sources.create`: the operation's id in the OpenAPI document and the action in the audit log. */
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below `/api/v1`: `/sources/:id`. */
  readonly path: string;
  readonly summary: string;
  /** `write` needs a token that may change things, and is written to the audit log. */
  readonly access: "read" | "write";
  readonly body?: B;
  readonly query?: Q;
  readonly answers: {
    readonly status: number;
    readonly description: string;
    readonly schema?: TSchema;
    /** Default: application/json. */
    readonly contentType?: string;
  };
  /** The answer to a request that changes nothing although the endpoint does. */
  readonly unchangedAnswer?: {
    readonly status: number;
    readonly description: string;
    readonly schema: TSchema;
  };
  /** Codes it answers beside those that every endpoint can. */
  readonly errors?: readonly ErrorCode[];
  /** The answer holds a secret that is stored nowhere: a repeated `Idempotency-Key` gets 409 instead of the answer. */
  readonly isAnswerSecret?: boolean;
  /** The body names users: the audit log keeps that it was asked, not of whom. */
  readonly isBodyPersonal?: boolean;
  handle(asked: Asked<Static<B>, Static<Q>>, context: AdminContext): Promise<EndpointAnswer> | EndpointAnswer;
}

/** An endpoint whatever its schemas are. */
export type Endpoint = Omit<EndpointSpec<TSchema, TObject>, "handle"> & {
  handle(asked: Asked<unknown, unknown>, context: AdminContext): Promise<EndpointAnswer> | EndpointAnswer;
};

/** Declares an endpoint: the schemas given here check the request, type the handler and make the OpenAPI document. */
export function endpoint<B extends TSchema, Q extends TObject>(spec: EndpointSpec<B, Q>): Endpoint {
  return spec as unknown as Endpoint;
}
