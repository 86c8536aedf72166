import {
  type Static,
  type TLiteral,
  type TObject,
  type TProperties,
  type TSchema,
  Type,
} from "@sinclair/typebox";

/** The type of the values that a schema accepts, read-only at any depth. */
export type Shape<S extends TSchema> = DeepReadonly<Static<S>>;

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** A string that is one of `words`. */
export function oneOf<const Word extends string>(
  words: readonly Word[],
  options: { readonly description?: string } = {},
) {
  return Type.Union(
    words.map((word): TLiteral<Word> => Type.Literal(word)),
    options,
  );
}

/** An object of a request: it may hold no other fields. */
export function closed<P extends TProperties>(
  properties: P,
  options: { readonly description?: string } = {},
) {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** The schema with another description. */
export function described<S extends TSchema>(schema: S, description: string): S {
  return { ...schema, description };
}

/** Items per page when `limit` is absent. */
export const DEFAULT_LIMIT = 50;

/** The parameters of every list. */
export const listParameters = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, default: DEFAULT_LIMIT, description: "Items per page" }),
  ),
  cursor: Type.Optional(Type.String({ maxLength: 1_000, description: "`nextCursor` of the previous page" })),
};
export const ListQuery = closed(listParameters);

/** A span of time as two parameters. */
export const timeParameters = {
  from: Type.Optional(Type.String({ description: "Not before this time (ISO 8601)" })),
  to: Type.Optional(Type.String({ description: "Before this time (ISO 8601)" })),
};

/** A page of a list. */
export interface ListAnswer<T> {
  readonly items: readonly T[];
  /** Pass it as `cursor` to get the next page. Absent on the last page. */
  readonly nextCursor?: string;
}

/** The schema of a page of items. */
export function listOf<T extends TSchema>(items: T) {
  return Type.Object({ items: Type.Array(items), nextCursor: Type.Optional(Type.String()) });
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A command of `sluice` that calls an endpoint. Options come from the schemas of its query and body. */
export interface CommandSpec {
  /** Its words after `sluice`: `sources rotate-key`. */
  readonly name: string;
  /** Default: the endpoint's summary. */
  readonly summary?: string;
  /** Arguments and options of an example. */
  readonly example?: string;
  /** Fields of the query or body that are arguments, after those of the path. */
  readonly arguments?: readonly string[];
  /** The fields that are options. Default: all others. */
  readonly fields?: readonly string[];
  /** Other names of options and arguments, by field. */
  readonly names?: { readonly [field: string]: string };
  readonly defaults?: { readonly [field: string]: string };
  /** Fields that the command sets itself. */
  readonly send?: { readonly [field: string]: unknown };
  /** What it asks before: `Delete the source {name} ({id})`. An endpoint with `dryRun` also shows its result before. */
  readonly confirm?: string;
  /** What was done, if the answer has no body. Default: `deleted`. */
  readonly done?: string;
  /** A line about the answer, with its fields in braces. */
  readonly text?: string;
  /** The field of the answer with the rows of the table. Default: `items`, or the answer itself. */
  readonly rows?: string;
  /**
   * Columns, as paths in a row, such as `id name OWNER:owner.name event|type`: a heading can stand before the path, and the first path
   * that has a value wins. Default: those of the command that lists such rows. Without any, all fields are shown.
   */
  readonly columns?: string;
  /** Shown instead of a table without rows. */
  readonly empty?: string;
  /** Lines after the answer. Each is shown if all the fields in it have a value, and not 0. */
  readonly notes?: readonly string[];
  /** Items that a list shows without `--limit`. Default: all. */
  readonly limit?: number;
}

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
  /** The commands of `sluice` that call it. */
  readonly commands?: readonly CommandSpec[];
}

/** Endpoints by method and path below `/api/v1`, such as `GET /sources/:id`. */
export type EndpointTable = { readonly [route: `${Method} /${string}`]: EndpointSpec };
