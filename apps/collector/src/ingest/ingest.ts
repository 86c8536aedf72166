import type { NewBatch, Offset, Store } from "@sluice/event-log";
import { findWriteKey, StorageUnavailable } from "@sluice/event-log";
import type { IngestSuccess, MessageKind, Region } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Suppressions } from "../documents/suppressions.js";
import { collectorErrorOf } from "../errors.js";
import type { HttpRequest } from "../http/routing.js";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import type { Tracing } from "../process/telemetry/tracing.js";
import { type Admitted, type PlanRefusal, requestAdmission } from "./admit-request.js";
import { answerDeadline } from "./answer-deadline.js";
import type { IngestMetrics } from "./ingest-metrics.js";
import { openRequest } from "./messages/open-request.js";
import { messageReader, type ReadMessages } from "./messages/read-messages.js";
import { type RejectionRecorder, rejectionRecorder } from "./record-rejections.js";
import { type Authenticator, type Credentials, createAuthenticator } from "./sources/authenticator.js";
import { type RateLimiter, rateLimiter } from "./sources/rate-limit.js";
import type { Source, SourceDirectory } from "./sources/source-directory.js";
import { basicUser } from "./sources/write-key.js";
import { ingestTracer } from "./trace-ingest.js";
import { invalidMessage, success } from "./verdict.js";
import type { WrongKeys } from "./wrong-keys.js";

export interface IngestOptions {
  readonly store: Store;
  readonly sources: SourceDirectory;
  readonly clock: Clock;
  readonly metrics: IngestMetrics;
  /** Remembers who sends with unknown write keys. Default: nobody does. */
  readonly wrongKeys?: Pick<WrongKeys, "add"> | undefined;
  readonly live: LiveEvents;
  /** Takes the spans of traced messages. */
  readonly tracing?: Tracing | undefined;
  /** Default: nobody is suppressed. */
  readonly suppressions?: Pick<Suppressions, "isSuppressed"> | undefined;
  /** Called with each batch before it is stored; what it returns is called with the offset that the batch got. Default: nothing. */
  readonly events?: { admit(batch: NewBatch): ((first: Offset) => void) | undefined } | undefined;
  /** The region this collector runs as. Undefined: regions are not configured, and every known key is accepted. */
  readonly region: Region | undefined;
  /** Base URLs of the regions, for clients that sent to the wrong one. */
  readonly regionUrls: Readonly<Partial<Record<Region, string>>>;
  /** Called for each message that a source's plan refused. */
  readonly onPlanRefusal?: ((refused: PlanRefusal) => void) | undefined;
  /** Messages a second of each source without a limit of its own; `auto`: of those with public keys. Default: no limit. */
  readonly messagesPerSecond?: number | "auto" | undefined;
  /** After this, a client whose messages are not stored yet is answered `owner_lost`. Default: it waits until the log answers. */
  readonly answerWithinMs?: number | undefined;
}

type IngestRequest = Pick<HttpRequest, "headers" | "remoteAddress" | "vouch">;
type ReadBody = () => Uint8Array | Promise<Uint8Array>;

/** Where a request can name its write key outside of its body. */
interface RequestHead {
  readonly authorization: string | undefined;
  /** From the query string. */
  readonly writeKey: string | undefined;
}

export interface Ingest {
  /**
   * Stores the messages of one request. Resolves when they are on disk; rejects with a `CollectorError` if none was stored.
   * `kind`: the kind of a single message; undefined for a batch. `writeKey`: from the request's address; it replaces the header.
   */
  take(
    request: IngestRequest,
    kind: MessageKind | undefined,
    readBody: ReadBody,
    writeKey?: string,
  ): Promise<IngestSuccess>;
  /** The source of a request's write key, in this region; throws `invalid_write_key` or `wrong_region`. */
  authenticate(request: Omit<IngestRequest, "vouch">, writeKey: string | undefined): Source;
}

export function createIngest(options: IngestOptions): Ingest {
  const { store, sources, clock } = options;
  const authenticator = createAuthenticator(options);
  const limiter = rateLimiter(clock, options.messagesPerSecond);
  const rejections = rejectionRecorder(options);
  const readMessages = messageReader(options.suppressions);
  const admit = requestAdmission({ ...options, authenticator, limiter, rejections });

  const refuses = (source: Source): boolean => sources.planOf(source.id)?.mode === "refuse";

  const refuse = requestRefusal(options, rejections);

  const append = batchAppender(options);
  const deadline = answerDeadline(clock, options.answerWithinMs);
  const checkHead = headCheck({ store, authenticator, deadline, limiter, refuse });

  const receive = async (
    request: IngestRequest,
    kind: MessageKind | undefined,
    readBody: ReadBody,
    head: RequestHead,
    first: Credentials | undefined,
  ): Promise<IngestSuccess> => {
    const { remoteAddress } = request;
    let known = first;
    let body: Uint8Array | undefined;
    let release = (): void => {};
    try {
      body = await readBody();
      const named = first ?? authenticator.fromBody(body, kind);
      if (first === undefined) limiter.admit(named.source, 0);
      request.vouch();
      const read = await readMessages(body, kind, refuses(named.source));
      // Keys and limits may have changed meanwhile. From here to the append nothing waits, and a change waits for `release`.
      release = sources.begin();
      const sender = credentialsOf(head, authenticator) ?? {
        writeKey: named.writeKey,
        source: authenticator.source(named.writeKey),
      };
      if (first !== undefined) known = sender;
      const messages = refuses(sender.source) ? parsed(read, body, kind) : read;
      const admitted = admit({ sender, body, kind, remoteAddress, messages });
      // Not awaited here: this function would keep the parsed request in memory until the messages are on disk.
      return deadline.within(append(kind, admitted).finally(release));
    } catch (error) {
      release();
      return refuse(
        error,
        request,
        known ?? { unknownKey: body && findWriteKey(body, kind === undefined) },
        body,
      );
    }
  };

  return {
    authenticate(request, writeKey) {
      try {
        return authenticator.source(writeKey);
      } catch (error) {
        return refuse(error, request, { unknownKey: writeKey });
      }
    },
    async take(request, kind, readBody, writeKey) {
      const head = { authorization: request.headers.authorization, writeKey };
      const first = checkHead(request, head);
      if (first !== undefined) request.vouch();
      return receive(request, kind, readBody, head, first);
    },
  };
}

interface HeadCheckParts {
  readonly store: Pick<Store, "health">;
  readonly authenticator: Authenticator;
  readonly deadline: Pick<ReturnType<typeof answerDeadline>, "assertAnswering">;
  readonly limiter: RateLimiter;
  readonly refuse: ReturnType<typeof requestRefusal>;
}

/** Refuses whatever can be refused without the body, so that it is neither held in memory nor parsed. */
function headCheck({ store, authenticator, deadline, limiter, refuse }: HeadCheckParts) {
  return (request: IngestRequest, head: RequestHead): Credentials | undefined => {
    let first: Credentials | undefined;
    try {
      first = credentialsOf(head, authenticator);
      assertWritable(store);
      deadline.assertAnswering();
      if (first !== undefined) limiter.admit(first.source, 0);
      return first;
    } catch (error) {
      return refuse(error, request, first ?? { unknownKey: head.writeKey ?? basicUser(head.authorization) });
    }
  };
}

function credentialsOf(head: RequestHead, authenticator: Authenticator): Credentials | undefined {
  return head.writeKey === undefined
    ? authenticator.fromHeader(head.authorization)
    : { writeKey: head.writeKey, source: authenticator.source(head.writeKey) };
}

/** Counts a request that is refused whole. What is known of its sender decides where it is shown. */
function requestRefusal(
  { wrongKeys }: Pick<IngestOptions, "wrongKeys">,
  rejections: Pick<RejectionRecorder, "addRequest">,
) {
  return (
    error: unknown,
    { headers, remoteAddress }: Omit<IngestRequest, "vouch">,
    sender: Credentials | { readonly unknownKey: string | undefined },
    body?: Uint8Array,
  ): never => {
    rejections.addRequest(error, "source" in sender ? sender : undefined, body);
    if ("unknownKey" in sender && collectorErrorOf(error).code === "invalid_write_key")
      wrongKeys?.add({
        writeKey: sender.unknownKey,
        address: remoteAddress,
        client: headers["user-agent"],
      });
    throw error;
  };
}

/** Stores what was admitted, and resolves when it is on disk. What it waits with does not hold the batch. */
function batchAppender({ store, metrics, clock, tracing, events }: IngestOptions) {
  const traceIngest = tracing && ingestTracer(tracing, clock);
  return async (kind: MessageKind | undefined, { batch, refusals }: Admitted): Promise<IngestSuccess> => {
    if (kind !== undefined && refusals[0] !== undefined) throw invalidMessage(refusals[0]);
    if (batch === undefined) return success(0, refusals);
    const { sourceId } = batch;
    const messages = batch.keys.length;
    const endTimer = metrics.appending();
    const endTrace = traceIngest?.(batch);
    const countNames = events?.admit(batch);
    return store.log
      .append(batch)
      .finally(endTimer)
      .then(({ duplicates, first }) => {
        endTrace?.(duplicates);
        if (first !== undefined) countNames?.(first);
        metrics.accepted(sourceId, messages, duplicates.length);
        return success(messages, refusals, duplicates.length);
      });
  };
}

/** A scan that a plan has overtaken, parsed. */
function parsed(read: ReadMessages, body: Uint8Array, kind: MessageKind | undefined): ReadMessages {
  return read.kind === "parsed" ? read : { kind: "parsed", opened: openRequest(body, kind) };
}

function assertWritable(store: Pick<Store, "health">): void {
  const health = store.health();
  if (health.kind === "unavailable") throw new StorageUnavailable(health.reason);
}
