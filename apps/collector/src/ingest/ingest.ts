import type { NewBatch, Offset, Store } from "@sluice/event-log";
import { findWriteKey, StorageUnavailable } from "@sluice/event-log";
import { type IngestSuccess, LIMITS, type MessageKind, type Region } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Suppressions } from "../documents/suppressions.js";
import { collectorErrorOf } from "../errors.js";
import type { HttpRequest } from "../http/routing.js";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import type { Tracing } from "../process/telemetry/tracing.js";
import { type Admitted, type AdmittedBefore, type PlanRefusal, requestAdmission } from "./admit-request.js";
import { type AnswerDeadline, answerDeadline } from "./answer-deadline.js";
import type { IngestMetrics, WrongKeys } from "./ingest-metrics.js";
import { openRequest } from "./messages/open-request.js";
import { type MessageReader, messageReader, type ReadMessages } from "./messages/read-messages.js";
import { isOfSender, type RejectionRecorder, rejectionRecorder } from "./rejections.js";
import {
  type Authenticator,
  basicUser,
  type Credentials,
  createAuthenticator,
} from "./sources/authenticator.js";
import { type Buckets, type RateLimiter, rateLimiter } from "./sources/rate-limit.js";
import type { Source, SourceDirectory } from "./sources/source-directory.js";
import { ingestTracer } from "./trace-ingest.js";
import { invalidMessage, success } from "./verdict.js";

export interface IngestOptions {
  readonly store: Pick<Store, "log" | "rejections" | "health">;
  /**
   * Whether the log may hand a batch back; see `AppendResult`. Bodies are then kept until they are stored, to admit them again. Default:
   * false.
   */
  readonly mayHandBack?: boolean | undefined;
  readonly sources: SourceDirectory;
  readonly clock: Clock;
  readonly metrics: IngestMetrics;
  /** Remembers who sends with unknown write keys. Default: nobody does. */
  readonly wrongKeys?: Pick<WrongKeys, "add"> | undefined;
  readonly live: Pick<LiveEvents, "watched" | "publish">;
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
  /** What sources have taken of their limits. Default: what they took in this thread. */
  readonly buckets?: Buckets | undefined;
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
  const limiter = rateLimiter(clock, options.messagesPerSecond, options.buckets);
  const rejections = rejectionRecorder(options);
  const readMessages = messageReader(options.suppressions);
  const admit = requestAdmission({ ...options, authenticator, limiter, rejections });

  const refuse = requestRefusal(options, rejections);
  const deadline = answerDeadline(clock, options.answerWithinMs);
  const checkHead = headCheck({ store, authenticator, deadline, limiter, refuse });
  const parts: ReceptionParts = {
    ...{ sources, authenticator, limiter, readMessages, admit, refuse, deadline },
    append: batchAppender(options),
    mayHandBack: options.mayHandBack ?? false,
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
      return new Reception(parts, request, kind, head, first).take(readBody);
    },
  };
}

interface ReceptionParts {
  readonly sources: SourceDirectory;
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  readonly readMessages: MessageReader;
  readonly admit: ReturnType<typeof requestAdmission>;
  readonly append: ReturnType<typeof batchAppender>;
  readonly refuse: ReturnType<typeof requestRefusal>;
  readonly deadline: AnswerDeadline;
  readonly mayHandBack: boolean;
}

/** One request, from its body to its messages in the log. */
class Reception {
  readonly #parts: ReceptionParts;
  readonly #request: IngestRequest;
  readonly #kind: MessageKind | undefined;
  readonly #head: RequestHead;
  /** The credentials in the head. */
  #known: Credentials | undefined;

  constructor(
    parts: ReceptionParts,
    request: IngestRequest,
    kind: MessageKind | undefined,
    head: RequestHead,
    known: Credentials | undefined,
  ) {
    this.#parts = parts;
    this.#request = request;
    this.#kind = kind;
    this.#head = head;
    this.#known = known;
  }

  async take(readBody: ReadBody): Promise<IngestSuccess> {
    const { authenticator, limiter } = this.#parts;
    let body: Uint8Array | undefined;
    let named = this.#known;
    try {
      body = await readBody();
      if (named === undefined) {
        named = authenticator.fromBody(body, this.#kind);
        limiter.admit(named.source, 0);
      }
      this.#request.vouch();
      const read = await this.#read(body, named.source);
      // Not awaited here: this function would keep the parsed request in memory until the messages are on disk.
      return this.#store(body, named, read).catch((error: unknown) => this.#refuse(error, body));
    } catch (error) {
      return this.#refuse(named === undefined ? error : this.#counted(error, named.source, body), body);
    }
  }

  /**
   * Counts a request that is refused whole as the fewest messages that its body can have, so that a source cannot send more of what is
   * refused than of what is taken. Returns the error to answer with.
   */
  #counted(error: unknown, source: Source, body: Uint8Array | undefined): unknown {
    if (!isOfSender(error)) return error;
    try {
      this.#parts.limiter.admit(source, Math.max(1, Math.ceil((body?.length ?? 0) / LIMITS.messageBytes)));
      return error;
    } catch (limited) {
      return limited;
    }
  }

  #refuse(error: unknown, body: Uint8Array | undefined): never {
    const unknownKey = body && findWriteKey(body, this.#kind === undefined);
    return this.#parts.refuse(error, this.#request, this.#known ?? { unknownKey }, body);
  }

  #refuses(source: Source): boolean {
    return this.#parts.sources.planOf(source.id)?.mode === "refuse";
  }

  #read(body: Uint8Array, source: Source): ReadMessages | Promise<ReadMessages> {
    return this.#parts.readMessages(body, this.#kind, this.#refuses(source));
  }

  /**
   * Admits the messages and passes them to the log. Keys and limits may have changed since they were read: nothing waits in here, and a
   * change waits for what began before it. Throws if the request is refused.
   */
  #store(
    body: Uint8Array,
    named: Credentials,
    read: ReadMessages,
    before?: AdmittedBefore,
  ): Promise<IngestSuccess> {
    const { sources, authenticator, admit, append, deadline, mayHandBack } = this.#parts;
    const kind = this.#kind;
    const release = sources.begin();
    try {
      const sender = credentialsOf(this.#head, authenticator) ?? {
        writeKey: named.writeKey,
        source: authenticator.source(named.writeKey),
      };
      if (this.#known !== undefined) this.#known = sender;
      const messages = this.#refuses(sender.source) ? parsed(read, body, kind) : read;
      const { remoteAddress } = this.#request;
      const admitted = admit({ sender, body, kind, remoteAddress, messages, before });
      const stored = append(kind, admitted).finally(release);
      if (!mayHandBack) return deadline.within(stored as Promise<IngestSuccess>);
      const admission = { source: sender.source, refusals: admitted.refusals };
      return deadline.within(stored.then((result) => result ?? this.#again(body, sender, admission)));
    } catch (error) {
      release();
      throw error;
    }
  }

  /** The settings changed on the way to the log. */
  async #again(body: Uint8Array, sender: Credentials, before: AdmittedBefore): Promise<IngestSuccess> {
    const read = await this.#read(body, sender.source);
    return this.#store(body, sender, read, before);
  }
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

/**
 * Stores what was admitted, and resolves when it is on disk; with undefined if the log hands it back. What it waits with does not hold the
 * batch.
 */
function batchAppender({ store, metrics, clock, tracing, events }: IngestOptions) {
  const traceIngest = tracing && ingestTracer(tracing, clock);
  return async (
    kind: MessageKind | undefined,
    { batch, refusals }: Admitted,
  ): Promise<IngestSuccess | undefined> => {
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
      .then(({ duplicates, first, isHandedBack }) => {
        if (isHandedBack) return undefined;
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
