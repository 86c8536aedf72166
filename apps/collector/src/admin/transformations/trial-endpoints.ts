import { createHash } from "node:crypto";
import type { TransformationDryRun, TransformationResult, TransformationTest } from "@sluice/control-api";
import { DOCUMENT_KINDS, type Store } from "@sluice/event-log";
import { formatTime, parseTime } from "@sluice/protocol";
import type { Sandboxes, TransformCode } from "@sluice/transformations";
import { type Routing, routingOf } from "../../delivery/routing/match.js";
import type { OutgoingMessage } from "../../destinations/destination.js";
import type { SecretBox } from "../../destinations/secret-box.js";
import type { SourceDocument } from "../../documents/documents.js";
import type { Suppressions } from "../../documents/suppressions.js";
import { CollectorError } from "../../errors.js";
import type { Trials } from "../../transformations/trials.js";
import { type Tried, tryMessages } from "../../transformations/trials.js";
import type { AdminContext } from "../context.js";
import { destinations } from "../destinations/destination-endpoints.js";
import { type Endpoint, type EndpointRequest, endpoint } from "../endpoint/endpoint.js";
import { untilRevoked } from "../endpoint/until-revoked.js";
import { findVersion, transformations } from "./change-transformation.js";
import { type CodeError, codeError } from "./code-error.js";
import { asSent, dryRun, newestMessages, throughSources } from "./dry-run.js";

export interface TrialEndpointsOptions {
  readonly secrets: SecretBox;
  readonly trials: Trials;
  readonly suppressions: Pick<Suppressions, "covers">;
}

const DEFAULT_MESSAGES = 1_000;
/** Characters that the results of a test may have. */
const MOST_SHOWN = 16 * 1_048_576;

/** The endpoints that run code without saving it. They change nothing, so they are not in the audit log. */
export function trialEndpoints({ secrets, trials, suppressions }: TrialEndpointsOptions): Endpoint[] {
  const isSuppressed: Suppressions["covers"] = (identity, offset) => suppressions.covers(identity, offset);
  /** Runs code that was checked, while the client waits and its token is valid. */
  const tried = async <Answer extends object>(
    { request, token }: Pick<EndpointRequest<unknown, unknown, unknown>, "request" | "token">,
    { tokens }: Pick<AdminContext, "tokens">,
    code: TransformCode,
    run: (sandboxes: Sandboxes, signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer | { readonly error: CodeError }> => {
    const { signal, stop, isRevoked } = untilRevoked(request.signal, tokens, token);
    try {
      const error = await codeError(trials, code);
      if (error !== undefined) return { error };
      const answer = await trials.run(signal, (sandboxes) => run(sandboxes, signal));
      signal.throwIfAborted();
      return answer;
    } catch (error) {
      if (!signal.aborted) throw error;
      if (isRevoked()) throw new CollectorError("unauthorized", "this token was revoked");
      throw new CollectorError("request_timeout", "the client is gone", { cause: error });
    } finally {
      stop();
    }
  };
  return [
    endpoint("POST /transformations/test", async (request, context) => {
      const { store, clock } = context;
      const code = await codeToTry(request.body, store, secrets);
      const messages = await messagesToTry(request.body, { store, isSuppressed, nowMs: clock.now() });
      const answer = await tried(request, context, code, async (sandboxes, signal) => ({
        results: await collect(tryMessages(sandboxes, code, messages, signal)),
      }));
      return { status: 200, body: { results: [], ...answer }, isUnchanged: true };
    }),
    endpoint("POST /transformations/dry-run", async (request, context) => {
      const { store, clock } = context;
      const { sourceId, destinationId, messages = DEFAULT_MESSAGES } = request.body;
      const code = await codeToTry(request.body, store, secrets);
      const { routing, codeBefore } = await onTheWayTo(destinationId, request.body.id, context, {
        isSuppressed,
        secrets,
      });
      const stored = newestMessages({ log: store.log, isSuppressed, sourceId, routing }, messages);
      const answer = await tried(request, context, code, (sandboxes, signal) => {
        const pages = codeBefore === undefined ? stored : throughSources(sandboxes, stored, codeBefore);
        return dryRun(sandboxes, code, pages, { signal, clock });
      });
      return { status: 200, body: { ...NOTHING, ...answer }, isUnchanged: true };
    }),
  ];
}

const NOTHING = {
  messages: 0,
  same: 0,
  changed: 0,
  dropped: 0,
  failed: 0,
  causes: [],
  examples: [],
  tookMs: 0,
};

/** All results. Throws `payload_too_large` for more than an answer should have. */
async function collect(results: AsyncIterable<Tried>): Promise<TransformationResult[]> {
  const all: TransformationResult[] = [];
  let characters = 0;
  for await (const tried of results) {
    const one = tried.view();
    characters += JSON.stringify(one.after ?? null).length;
    if (characters > MOST_SHOWN)
      throw new CollectorError(
        "payload_too_large",
        `what the code returned has more than ${MOST_SHOWN / 1_048_576} MB: try it on fewer messages`,
      );
    all.push(one);
  }
  return all;
}

/** The code of a request, with the secrets of the transformation that it names. */
async function codeToTry(
  { id, code, language }: Pick<TransformationTest, "id" | "code" | "language">,
  { config }: Pick<Store, "config">,
  box: SecretBox,
): Promise<TransformCode> {
  if (id === undefined) {
    if (code === undefined)
      throw new CollectorError("invalid_request", "code: give code, or the id of a transformation");
    return keyed({ code, language: language ?? "typescript", secrets: {} });
  }
  const { value } = await transformations.find(config, id);
  const saved = await findVersion(config, id, value.current);
  const opened = Object.entries(value.secrets).map(([name, sealed]) => [name, openSecret(box, name, sealed)]);
  return keyed({
    code: code ?? saved.code,
    language: language ?? saved.language,
    secrets: Object.fromEntries(opened),
  });
}

/** Throws `invalid_request` for a secret that was sealed with another key. */
function openSecret(box: SecretBox, name: string, sealed: string): string {
  try {
    return box.open(sealed);
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new CollectorError("invalid_request", `secrets.${name}: ${problem}`, { cause });
  }
}

/** Equal code with equal secrets has an equal key. */
function keyed(code: Omit<TransformCode, "key">): TransformCode {
  return { key: createHash("sha256").update(JSON.stringify(code)).digest("base64url"), ...code };
}

/** What a request wants to try code on. */
async function messagesToTry(
  { messages = [], messageIds = [], newest }: TransformationTest,
  { store, isSuppressed, nowMs }: { store: Store; isSuppressed: Suppressions["covers"]; nowMs: number },
): Promise<OutgoingMessage[]> {
  const found = messages.map((fields, index) => pasted(fields, index, nowMs));
  for (const messageId of messageIds) {
    const [stored] = (await store.log.find({ messageId }, { limit: 1 })).items;
    const message = stored && asSent(stored);
    if (message === undefined)
      throw new CollectorError("not_found", `no message with the id ${messageId} is stored`);
    found.push(message);
  }
  if (newest === undefined) return found;
  const { count, sourceId } = newest;
  for await (const page of newestMessages({ log: store.log, isSuppressed, sourceId }, count))
    found.push(...page);
  return found;
}

/** A message that was sent with the request. What it does not say is as if it were received now. */
function pasted(fields: { readonly [name: string]: unknown }, index: number, nowMs: number): OutgoingMessage {
  const { messageId, timestamp, receivedAt, type = "track" } = fields;
  const timeOf = (given: unknown): number | undefined =>
    typeof given === "string" ? parseTime(given) : undefined;
  const receivedAtMs = timeOf(receivedAt) ?? nowMs;
  return {
    messageId: typeof messageId === "string" ? messageId : `test-${index + 1}`,
    sourceId: "",
    message: { ...fields, type } as OutgoingMessage["message"],
    timestamp: formatTime(timeOf(timestamp) ?? receivedAtMs),
    offset: 0,
    receivedAtMs,
  };
}

/** What comes before a destination's transformation. */
interface Before {
  readonly routing?: Routing;
  /** The code that messages of a source pass before the code that is tried; undefined if that is the source's own. */
  readonly codeBefore?: (sourceId: string) => Promise<TransformCode | undefined>;
}

async function onTheWayTo(
  destinationId: TransformationDryRun["destinationId"],
  triedId: TransformationDryRun["id"],
  { store, catalog }: Pick<AdminContext, "store" | "catalog">,
  { isSuppressed, secrets }: { readonly isSuppressed: Suppressions["covers"]; readonly secrets: SecretBox },
): Promise<Before> {
  if (destinationId === undefined) return {};
  const { value } = await destinations.find(store.config, destinationId);
  const type = catalog.get(value.type);
  if (type === undefined)
    throw new CollectorError(
      "invalid_request",
      `destinationId: this collector has no destination type ${value.type}`,
    );
  const all = await store.config.list<SourceDocument>(DOCUMENT_KINDS.source);
  const sources = new Map(all.map((source) => [source.id, source.value]));
  const opened = new Map<string, Promise<TransformCode>>();
  return {
    routing: routingOf(destinationId, value, type, sources, isSuppressed),
    async codeBefore(sourceId) {
      const id = sources.get(sourceId)?.transformationId;
      if (id === undefined || id === triedId) return undefined;
      const code = opened.get(id) ?? codeToTry({ id }, store, secrets);
      opened.set(id, code);
      return code;
    },
  };
}
