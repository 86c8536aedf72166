import { type TObject, Type } from "@sinclair/typebox";
import type { ConfigStore } from "@sluice/event-log";
import { NotInForce } from "@sluice/event-log";
import { CollectorError, ERRORS } from "../errors.js";
import type { Handler, HttpAnswer, HttpRequest } from "../http/routing/route.js";
import { authenticate } from "../tokens/authenticate.js";
import type { GuessLimit } from "../tokens/guess-limit.js";
import type { KnownToken } from "../tokens/tokens.js";
import type { AuditLog } from "./audit-log.js";
import { ADMIN_BODY_BYTES, checkAgainst, readJson, readQuery } from "./check-request.js";
import type { AdminContext } from "./context.js";
import type { Endpoint, EndpointAnswer } from "./endpoint.js";
import type { Idempotency } from "./idempotency.js";

/** What all endpoints of one collector share. */
export interface ServingParts {
  readonly context: AdminContext;
  readonly guesses: GuessLimit;
  readonly audit: AuditLog;
  readonly idempotency: Idempotency;
}

const NO_QUERY: TObject = Type.Object({}, { additionalProperties: false });

/** Around each handler: who asks, may they, is it well formed, was it asked before; and afterwards the audit log. */
export function serveEndpoint(
  endpoint: Endpoint,
  { context, guesses, audit, idempotency }: ServingParts,
): Handler {
  const handle = async (request: HttpRequest): Promise<HttpAnswer> => {
    const permitted = (): KnownToken => {
      const token = authenticate(request, context.tokens, guesses, context.clock);
      if (endpoint.access === "write" && token.access !== "full") throw new CollectorError("forbidden");
      return token;
    };
    permitted();
    request.vouch();
    const querySchema = endpoint.query ?? NO_QUERY;
    const query = readQuery(querySchema, request.query);
    checkAgainst(querySchema, query);
    let body: unknown;
    if (endpoint.body !== undefined) {
      body = readJson(await request.readBody(ADMIN_BODY_BYTES));
      checkAgainst(endpoint.body, body);
    } else if (endpoint.access === "write") {
      // A client may send `{}` where nothing is asked; left unread it would cost the connection.
      await request.readBody(ADMIN_BODY_BYTES);
    }
    // It may have been revoked while the body came in.
    const token = permitted();
    const ifMatch = readIfMatch(request.headers["if-match"]);
    const asked = {
      params: request.params,
      query,
      body,
      token,
      request,
      ...(ifMatch === undefined ? {} : { ifMatch }),
    };
    const run = async (config?: ConfigStore): Promise<EndpointAnswer> => {
      const withDocuments =
        config === undefined ? context : { ...context, store: { ...context.store, config } };
      const note = (target: string | undefined): Promise<void> =>
        audit.add({
          token,
          action: endpoint.name,
          target,
          ...(endpoint.isBodyPersonal ? {} : { change: body }),
        });
      try {
        const answer = await endpoint.handle(asked, withDocuments);
        if (endpoint.access === "write" && !answer.isUnchanged)
          await note(answer.target ?? request.params.id ?? idOf(answer.body));
        return answer;
      } catch (error) {
        // It is changed all the same.
        if (error instanceof NotInForce) await note(error.id);
        throw error;
      }
    };
    const key = request.headers["idempotency-key"];
    const isKeyed = typeof key === "string" && endpoint.method === "POST" && endpoint.access === "write";
    const answer = isKeyed
      ? await idempotency.once(
          {
            key,
            tokenId: token.id,
            method: endpoint.method,
            path: request.path,
            body,
            isAnswerSecret: endpoint.isAnswerSecret ?? false,
          },
          run,
        )
      : await run();
    return asHttp(answer);
  };

  return async (request) => {
    try {
      return await handle(request);
    } catch (error) {
      // RFC 9110 wants a 401 to say how to do better; everything else the server answers.
      if (!(error instanceof CollectorError) || error.code !== "unauthorized") throw error;
      return {
        status: ERRORS.unauthorized.status,
        headers: { "www-authenticate": 'Bearer realm="sluice"' },
        body: { success: false, code: error.code, message: error.message },
      };
    }
  };
}

/** Nobody may keep a copy of what a token gave access to; a version stands in the ETag. */
function asHttp(answer: EndpointAnswer): HttpAnswer {
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

/** `"7"`, `W/"7"` or `7`; `*` asks for any version. */
function readIfMatch(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === "*") return undefined;
  const version = /^(?:W\/)?"?(\d{1,15})"?$/.exec(header.trim())?.[1];
  if (version === undefined)
    throw new CollectorError("invalid_request", 'If-Match must be a version such as "3"');
  return Number(version);
}
