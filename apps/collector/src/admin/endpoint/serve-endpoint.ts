import { type TObject, Type } from "@sinclair/typebox";
import { NotInForce } from "@sluice/event-log";
import { CollectorError } from "../../errors.js";
import type { Handler, HttpAnswer, HttpRequest } from "../../http/routing.js";
import { authenticate } from "../../tokens/authenticate.js";
import type { GuessLimit } from "../../tokens/guess-limit.js";
import type { KnownToken } from "../../tokens/tokens.js";
import type { AuditLog } from "../audit.js";
import { nameOf } from "../audit.js";
import type { AdminContext } from "../context.js";
import { ADMIN_BODY_BYTES, checkAgainst, readJson, readQuery } from "./check-request.js";
import type { Endpoint, EndpointAnswer } from "./endpoint.js";
import { challenge } from "./endpoint.js";
import type { Idempotency } from "./idempotency.js";

/** Shared by all endpoints of a collector. */
export interface ServingParts {
  readonly context: AdminContext;
  readonly guesses: GuessLimit;
  readonly audit: AuditLog;
  readonly idempotency: Idempotency;
}

type Checked = Parameters<Endpoint["handle"]>[0];

const NO_QUERY: TObject = Type.Object({}, { additionalProperties: false });

/** Wraps an endpoint's handler: authentication, access, validation and idempotency before it, the audit log after it. */
export function serveEndpoint(endpoint: Endpoint, parts: ServingParts): Handler {
  return async (request) => {
    try {
      const checked = await checkRequest(endpoint, parts, request);
      return toHttp(await runOnce(endpoint, parts, checked));
    } catch (error) {
      return challenge(error);
    }
  };
}

async function checkRequest(
  endpoint: Endpoint,
  { context, guesses }: ServingParts,
  request: HttpRequest,
): Promise<Checked> {
  const permitted = (): KnownToken => {
    const token = authenticate(request, context.tokens, guesses, context.clock);
    if (token.access === "metrics")
      throw new CollectorError("forbidden", "this token may only read /metrics");
    if (endpoint.access === "write" && token.access !== "full") throw new CollectorError("forbidden");
    return token;
  };
  permitted();
  request.vouch();
  const querySchema = endpoint.query ?? NO_QUERY;
  const query = readQuery(querySchema, request.query);
  checkAgainst(querySchema, query);
  const body = await readBody(endpoint, request);
  // The token may have been revoked while the body was received.
  const token = permitted();
  const ifMatch = readIfMatch(request.headers["if-match"]);
  return {
    params: request.params,
    query,
    body,
    token,
    request,
    ...(ifMatch === undefined ? {} : { ifMatch }),
  };
}

async function readBody(endpoint: Endpoint, request: HttpRequest): Promise<unknown> {
  if (endpoint.body !== undefined) {
    const body = readJson(await request.readBody(endpoint.bodyBytes ?? ADMIN_BODY_BYTES));
    checkAgainst(endpoint.body, body);
    return body;
  }
  // Clients may send `{}` where no body is expected. Left unread, it would close the connection.
  if (endpoint.access === "write") await request.readBody(ADMIN_BODY_BYTES);
  return undefined;
}

function withoutFields(body: unknown, names: readonly string[]): unknown {
  if (names.length === 0 || typeof body !== "object" || body === null) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

/** Runs the handler; a POST with an `Idempotency-Key` only the first time. */
async function runOnce(endpoint: Endpoint, parts: ServingParts, checked: Checked): Promise<EndpointAnswer> {
  const { request, token, body } = checked;
  const key = request.headers["idempotency-key"];
  if (typeof key !== "string" || endpoint.method !== "POST" || endpoint.access !== "write")
    return runAudited(endpoint, parts, checked);
  return parts.idempotency.once(
    {
      key,
      tokenId: token.id,
      method: endpoint.method,
      path: request.path,
      body: withoutFields(body, endpoint.repeatableWithout ?? []),
      isAnswerSecret: endpoint.isAnswerSecret ?? false,
    },
    (config) => {
      const context = { ...parts.context, store: { ...parts.context.store, config } };
      return runAudited(endpoint, { ...parts, context }, checked);
    },
  );
}

async function runAudited(
  endpoint: Endpoint,
  { context, audit }: ServingParts,
  checked: Checked,
): Promise<EndpointAnswer> {
  const { token, body, params } = checked;
  const { config } = context.store;
  // Afterwards it may be deleted, or have another name.
  const before = endpoint.access === "write" ? await nameOf(config, params.id) : undefined;
  const record = async (target: string | undefined, change = body): Promise<void> =>
    audit.add({
      token,
      action: endpoint.name,
      target,
      targetName: before ?? (await nameOf(config, target)),
      ...(endpoint.isBodyPersonal ? {} : { change }),
    });
  try {
    const answer = await endpoint.handle(checked, context);
    if (endpoint.access === "write" && !answer.isUnchanged)
      await record(answer.target ?? params.id ?? idOf(answer.body), answer.change);
    return answer;
  } catch (error) {
    // The change is stored although it is not in force yet.
    if (error instanceof NotInForce) await record(error.id);
    throw error;
  }
}

/** Answers must not be cached, because they need a token. A resource's version is its ETag. */
function toHttp(answer: EndpointAnswer): HttpAnswer {
  const version =
    answer.body !== undefined && "version" in answer.body && typeof answer.body.version === "number"
      ? { etag: `"${answer.body.version}"` }
      : {};
  return {
    status: answer.status,
    headers: { "cache-control": "no-store", ...version, ...answer.headers },
    ...(answer.body === undefined ? {} : { body: answer.body }),
    ...(answer.stream === undefined ? {} : { stream: answer.stream }),
  };
}

function idOf(body: object | undefined): string | undefined {
  return body !== undefined && "id" in body && typeof body.id === "string" ? body.id : undefined;
}

/** Accepts `"7"`, `W/"7"` and `7`; `*` matches any version. */
function readIfMatch(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === "*") return undefined;
  const version = /^(?:W\/)?"?(\d{1,15})"?$/.exec(header.trim())?.[1];
  if (version === undefined)
    throw new CollectorError("invalid_request", 'If-Match must be a version such as "3"');
  return Number(version);
}
