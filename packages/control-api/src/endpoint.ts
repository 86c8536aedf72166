import type { TObject, TSchema } from "@sinclair/typebox";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What an endpoint takes and answers. Its method and path are its key in the table of endpoints. */
export interface EndpointSpec {
  /** The operation's id in the OpenAPI document and the action in the audit log: `sources.create`. */
  readonly name: string;
  readonly summary: string;
  /** `write` needs a token with full access, and is recorded in the audit log. */
  readonly access: "read" | "write";
  readonly query?: TObject;
  readonly body?: TSchema;
  /** The longest body. Default: 262,144 (256 KB). */
  readonly bodyBytes?: number;
  readonly answer: {
    readonly status: number;
    readonly description: string;
    /** Absent: the answer has no body. */
    readonly schema?: TSchema;
    /** Default: application/json. */
    readonly contentType?: string;
  };
  /** The answer to a request that changes nothing although the endpoint can, such as a dry run. */
  readonly unchangedAnswer?: {
    readonly status: number;
    readonly description: string;
    readonly schema: TSchema;
  };
  /** Error codes besides those that every endpoint can answer. */
  readonly errors?: readonly string[];
  /** The answer holds a secret that is never stored: a repeated `Idempotency-Key` gets 409 instead of the answer. */
  readonly isAnswerSecret?: boolean;
  /** The body names users, so the audit log records the request without its body. */
  readonly isBodyPersonal?: boolean;
  /** Fields of the body in which a repetition with the same `Idempotency-Key` may differ. Default: none. */
  readonly repeatableWithout?: readonly string[];
}

/** Endpoints by method and path below `/api/v1`, such as `GET /sources/:id`. */
export type EndpointTable = { readonly [route: `${Method} /${string}`]: EndpointSpec };
