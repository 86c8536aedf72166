import { createHash } from "node:crypto";
import type { TransformationResult, TransformationTest } from "@sluice/control-api";
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
import { type Tried, type TryOptions, tryMessages } from "../../transformations/trials.js";
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
      const { id, destinationId } = request.body;
      const code = await codeToTry(request.body, store, secrets);
      const way = await wayTo(destinationId, { id, code }, context, { isSuppressed, secrets });
      const found = messagesToTry(request.body, { store, isSuppressed, nowMs: clock.now(), way });
      const answer = await tried(request, context, code, async (sandboxes, signal) => {
        const results: TransformationResult[] = [];
        const room = { characters: MOST_SHOWN };
        for await (const page of way.through(sandboxes, found))
          results.push(...(await collect(tryMessages(sandboxes, code, page, { ...way, signal }), room)));
        return { results };
      });
      return { status: 200, body: { results: [], ...answer }, isUnchanged: true };
    }),
    endpoint("POST /transformations/dry-run", async (request, context) => {
      const { store, clock } = context;
      const { id, sourceId, destinationId, messages = DEFAULT_MESSAGES } = request.body;
      const code = await codeToTry(request.body, store, secrets);
      const way = await wayTo(destinationId, { id, code }, context, { isSuppressed, secrets });
      const stored = newestMessages(
        { log: store.log, isSuppressed, sourceId, routing: way.routing },
        messages,
      );
      const answer = await tried(request, context, code, (sandboxes, signal) =>
        dryRun(sandboxes, code, way.through(sandboxes, stored), { ...way, signal, clock }),
      );
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
  endedEarly: false,
};

/** All results. Throws `payload_too_large` for more than an answer has room for. */
async function collect(
  results: AsyncIterable<Tried>,
  room: { characters: number },
): Promise<TransformationResult[]> {
  const all: TransformationResult[] = [];
  for await (const tried of results) {
    const one = tried.view();
    room.characters -= JSON.stringify(one.after ?? null).length;
    if (room.characters < 0)
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

/** What a request wants to try code on. Stored messages that a destination does not get are left out. */
async function* messagesToTry(
  { messages = [], messageIds = [], newest }: TransformationTest,
  {
    store,
    isSuppressed,
    nowMs,
    way: { routing },
  }: { store: Store; isSuppressed: Suppressions["covers"]; nowMs: number; way: Pick<Way, "routing"> },
): AsyncGenerator<readonly OutgoingMessage[]> {
  const found = messages.map((fields, index) => pasted(fields, index, nowMs));
  for (const messageId of messageIds) {
    const [stored] = (await store.log.find({ messageId }, { limit: 1 })).items;
    const isGiven = stored !== undefined && asSent(stored) !== undefined;
    // Of a list, the others are tried: one may have been deleted since, or be a deletion.
    if (!isGiven && messageIds.length > 1) continue;
    if (stored === undefined)
      throw new CollectorError("not_found", `no message with the id ${messageId} is stored`);
    if (!isGiven)
      throw new CollectorError(
        "invalid_request",
        `messageIds: no transformation gets ${messageId}, which is of type ${stored.message.type}`,
      );
    const message = asSent(stored, routing);
    if (message !== undefined) found.push(message);
  }
  yield found;
  if (newest === undefined) return;
  const { count, sourceId } = newest;
  yield* newestMessages({ log: store.log, isSuppressed, sourceId, routing }, count);
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

/** The way of messages to a destination, of which the code that is tried is a part. */
interface Way extends Pick<TryOptions, "followerOf"> {
  readonly routing?: Routing;
  /** Messages as they come to the code. */
  through(
    sandboxes: Pick<Sandboxes, "run">,
    pages: AsyncIterable<readonly OutgoingMessage[]>,
  ): AsyncIterable<readonly OutgoingMessage[]>;
}

/** Code of a source runs before that of the destination; other code is tried in the destination's place. */
async function wayTo(
  destinationId: string | undefined,
  tried: { readonly id?: string | undefined; readonly code: TransformCode },
  { store, catalog }: Pick<AdminContext, "store" | "catalog">,
  { isSuppressed, secrets }: { readonly isSuppressed: Suppressions["covers"]; readonly secrets: SecretBox },
): Promise<Way> {
  if (destinationId === undefined) return { through: (_sandboxes, pages) => pages };
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
  const codeOf = (id: string): Promise<TransformCode> => {
    const code =
      opened.get(id) ?? (id === tried.id ? Promise.resolve(tried.code) : codeToTry({ id }, store, secrets));
    opened.set(id, code);
    return code;
  };
  const isOwnOf = (sourceId: string): boolean =>
    tried.id !== undefined && sources.get(sourceId)?.transformationId === tried.id;
  const next = value.transformationId;
  return {
    routing: routingOf(destinationId, value, type, sources, isSuppressed),
    through: (sandboxes, pages) =>
      throughSources(sandboxes, pages, async (sourceId) => {
        const id = sources.get(sourceId)?.transformationId;
        return id === undefined || id === tried.id ? undefined : codeOf(id);
      }),
    async followerOf(sourceId) {
      // A pasted message has no source.
      const isOwn =
        sourceId === "" ? value.connections.some((one) => isOwnOf(one.sourceId)) : isOwnOf(sourceId);
      if (next === undefined || !isOwn) return undefined;
      const { name } = (await transformations.find(store.config, next)).value;
      return { name, code: await codeOf(next) };
    },
  };
}
