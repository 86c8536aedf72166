import type { TObject, TSchema } from "@sinclair/typebox";
import { ERRORS, type ErrorCode } from "../../errors.js";
import type { Endpoint } from "../endpoint/endpoint.js";

/** An OpenAPI 3.1 document, as far as this code reads it. */
export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
  readonly security: readonly object[];
  readonly servers: readonly { readonly url: string }[];
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: "path" | "query" | "header";
    readonly required: boolean;
    readonly description?: string;
    readonly schema: object;
  }[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: { readonly "application/json": { readonly schema: object } };
  };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: object }>>;
}

/** Codes of every endpoint. */
const EVERYWHERE: readonly ErrorCode[] = ["invalid_request", "unauthorized", "rate_limited"];
/** Codes of every endpoint with `write` access. */
const WHERE_WRITTEN: readonly ErrorCode[] = ["malformed_json", "forbidden", "storage_unavailable"];

/** Describes endpoints by the schemas that check their requests. */
export function openApiDocument(endpoints: readonly Endpoint[], version: string): OpenApiDocument {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const endpoint of endpoints) {
    const path = endpoint.path.replace(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][endpoint.method.toLowerCase()] = operationOf(endpoint);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Sluice control API",
      version,
      description:
        "Sources, destinations, messages and their outcomes. Times are ISO 8601 in UTC, durations are in milliseconds. " +
        "Lists are `{items, nextCursor?}`. Errors are `{success: false, code, message}`.",
    },
    servers: [{ url: "/api/v1" }],
    security: [{ adminToken: [] }],
    tags: [...new Set(endpoints.map(tagOf))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { adminToken: { type: "http", scheme: "bearer", description: "An admin token" } },
      schemas: {
        Error: {
          type: "object",
          required: ["success", "code", "message"],
          properties: {
            success: { const: false },
            code: { type: "string", enum: Object.keys(ERRORS) },
            message: { type: "string" },
          },
        },
      },
    },
  };
}

function tagOf(endpoint: Endpoint): string {
  return endpoint.name.slice(0, endpoint.name.indexOf("."));
}

function operationOf(endpoint: Endpoint): Operation {
  const { body, answer, unchangedAnswer } = endpoint;
  return {
    operationId: endpoint.name,
    tags: [tagOf(endpoint)],
    summary: endpoint.summary,
    parameters: [
      ...[...endpoint.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
        name: name as string,
        in: "path" as const,
        required: true,
        schema: { type: "string" },
      })),
      ...queryParameters(endpoint.query),
      ...headerParameters(endpoint),
    ],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: plain(body) } } } }),
    responses: {
      [answer.status]: {
        description: answer.description,
        ...(answer.schema === undefined
          ? {}
          : { content: { [answer.contentType ?? "application/json"]: { schema: plain(answer.schema) } } }),
      },
      ...(unchangedAnswer === undefined
        ? {}
        : {
            [unchangedAnswer.status]: {
              description: unchangedAnswer.description,
              content: { "application/json": { schema: plain(unchangedAnswer.schema) } },
            },
          }),
      ...errorAnswers([
        ...EVERYWHERE,
        ...(endpoint.access === "write" ? WHERE_WRITTEN : []),
        ...(endpoint.errors ?? []),
      ]),
    },
  };
}

function queryParameters(query: TObject | undefined): Operation["parameters"] {
  if (query === undefined) return [];
  const required = new Set(query.required ?? []);
  return Object.entries(query.properties).map(([name, schema]) => ({
    name,
    in: "query" as const,
    required: required.has(name),
    ...(typeof schema.description === "string" ? { description: schema.description } : {}),
    schema: plain(schema),
  }));
}

function headerParameters({ method, access, errors }: Endpoint): Operation["parameters"] {
  if (method === "POST" && access === "write")
    return [
      {
        name: "Idempotency-Key",
        in: "header",
        required: false,
        description: "A repeated request with the same key gets the first answer, for 24 hours",
        schema: { type: "string", minLength: 1, maxLength: 255 },
      },
    ];
  if (errors?.includes("precondition_failed"))
    return [
      {
        name: "If-Match",
        in: "header",
        required: false,
        description: "The version that you want to change; 412 if the resource has another version now",
        schema: { type: "string" },
      },
    ];
  return [];
}

/** One response per status, which names its codes. */
function errorAnswers(codes: readonly ErrorCode[]): Operation["responses"] {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set(codes)) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, ofStatus]) => [
        status,
        {
          description: ofStatus.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join("; "),
          content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
        },
      ]),
  );
}

/** A schema without TypeBox's own marks: they are symbols, which JSON leaves out. */
function plain(schema: TSchema): object {
  return JSON.parse(JSON.stringify(schema));
}
