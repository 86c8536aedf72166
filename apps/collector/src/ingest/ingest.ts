import type { Store } from "@sluice/event-log";
import { StorageUnavailable } from "@sluice/event-log";
import type { IngestSuccess, MessageKind, Region } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Suppressions } from "../documents/suppressions.js";
import type { HttpRequest } from "../http/routing/route.js";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import { type Admitted, requestAdmission } from "./admit-request.js";
import type { IngestMetrics } from "./ingest-metrics.js";
import { messageReader } from "./messages/read-messages.js";
import { rejectionRecorder } from "./record-rejections.js";
import { type Credentials, createAuthenticator } from "./sources/authenticator.js";
import { rateLimiter } from "./sources/rate-limit.js";
import type { Source, SourceDirectory } from "./sources/source-directory.js";
import { invalidMessage, success } from "./verdict.js";

export interface IngestOptions {
  readonly store: Store;
  readonly sources: SourceDirectory;
  readonly clock: Clock;
  readonly metrics: IngestMetrics;
  readonly live: LiveEvents;
  /** Default: nobody is suppressed. */
  readonly suppressions?: Pick<Suppressions, "isSuppressed"> | undefined;
  /** The region this collector runs as. Undefined: regions are not configured, and every known key is accepted. */
  readonly region: Region | undefined;
  /** Base URLs of the regions, for clients that sent to the wrong one. */
  readonly regionUrls: Readonly<Partial<Record<Region, string>>>;
  /** Messages a second of each source without a limit of its own; `auto`: of those with public keys. Default: no limit. */
  readonly messagesPerSecond?: number | "auto" | undefined;
}

type IngestRequest = Pick<HttpRequest, "headers" | "remoteAddress" | "vouch">;
type ReadBody = () => Uint8Array | Promise<Uint8Array>;

export interface Ingest {
  /**
   * Stores the messages of one request. Resolves when they are on disk; rejects with a `CollectorError` if none was stored.
   * `kind`: the kind of a single message; undefined for a batch.
   */
  take(request: IngestRequest, kind: MessageKind | undefined, readBody: ReadBody): Promise<IngestSuccess>;
  /** The source of a write key, in this region; throws `invalid_write_key` or `wrong_region`. */
  authenticate(writeKey: string | undefined): Source;
}

/** A request that was admitted; `release` must be called when its batch is written. */
interface Received extends Admitted {
  readonly release: () => void;
}

export function createIngest(options: IngestOptions): Ingest {
  const { store, sources, clock, metrics } = options;
  const authenticator = createAuthenticator(options);
  const limiter = rateLimiter(clock, options.messagesPerSecond);
  const rejections = rejectionRecorder(options);
  const readMessages = messageReader(options.suppressions);
  const admit = requestAdmission({ ...options, authenticator, limiter, rejections });

  /** Refuses whatever can be refused without the body, so that it is neither held in memory nor parsed. */
  const checkHeader = ({ headers }: IngestRequest): Credentials | undefined => {
    try {
      return authenticator.fromHeader(headers.authorization);
    } catch (error) {
      rejections.addRequest(error, undefined, undefined);
      throw error;
    }
  };

  const receive = async (
    request: IngestRequest,
    kind: MessageKind | undefined,
    readBody: ReadBody,
    header: Credentials | undefined,
  ): Promise<Received> => {
    const { headers, remoteAddress } = request;
    let known = header;
    let body: Uint8Array | undefined;
    let release = (): void => {};
    try {
      body = await readBody();
      const named = header ?? authenticator.fromBody(body, kind);
      if (header === undefined) limiter.admit(named.source, 0);
      request.vouch();
      const messages = await readMessages(body, kind);
      // Keys and limits may have changed meanwhile. From here to the append nothing waits, and a change waits for `release`.
      release = sources.begin();
      const sender = authenticator.fromHeader(headers.authorization) ?? {
        writeKey: named.writeKey,
        source: authenticator.source(named.writeKey),
      };
      if (header !== undefined) known = sender;
      return { ...admit({ sender, body, kind, remoteAddress, messages }), release };
    } catch (error) {
      release();
      rejections.addRequest(error, known, body);
      throw error;
    }
  };

  const append = async (
    kind: MessageKind | undefined,
    { batch, refusals }: Admitted,
  ): Promise<IngestSuccess> => {
    if (kind !== undefined && refusals[0] !== undefined) throw invalidMessage(refusals[0]);
    if (batch === undefined) return success(0, refusals);
    const endTimer = metrics.appending();
    const { duplicates } = await store.log.append(batch).finally(endTimer);
    metrics.accepted(batch.keys.length, duplicates.length);
    return success(batch.keys.length, refusals, duplicates.length);
  };

  return {
    authenticate: authenticator.source,
    async take(request, kind, readBody) {
      const header = checkHeader(request);
      assertWritable(store);
      if (header !== undefined) {
        limiter.admit(header.source, 0);
        request.vouch();
      }
      const received = await receive(request, kind, readBody, header);
      try {
        return await append(kind, received);
      } finally {
        received.release();
      }
    },
  };
}

function assertWritable(store: Pick<Store, "health">): void {
  const health = store.health();
  if (health.kind === "unavailable") throw new StorageUnavailable(health.reason);
}
