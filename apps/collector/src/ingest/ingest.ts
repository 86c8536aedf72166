import { randomUUID } from "node:crypto";
import type { NewBatch, Rejection, Store } from "@sluice/event-log";
import {
  findWriteKey,
  type SkimmedRequest,
  StorageUnavailable,
  StoreError,
  skimRequest,
} from "@sluice/event-log";
import {
  type IngestSuccess,
  LIMITS,
  type MessageKind,
  type Region,
  regionOfWriteKey,
} from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Suppressions } from "../documents/suppressions.js";
import { CollectorError, collectorErrorOf } from "../errors.js";
import type { HttpRequest } from "../http/route.js";
import type { LiveEvents } from "../process/live-events.js";
import { type Credentials, rememberedCredentials } from "./credentials.js";
import type { IngestMetrics } from "./ingest-metrics.js";
import { judge, type Refusal } from "./judge.js";
import { inTurns, oneATurn } from "./one-a-turn.js";
import {
  MAX_ENVELOPE_BYTES,
  MAX_UNFOLDED_BYTES,
  noBatch,
  type OpenedRequest,
  openInSlices,
  openRequest,
} from "./open-request.js";
import { rateLimiter, rateOf } from "./rate-limit.js";
import { rejectionsOf, wholeRejection } from "./rejections.js";
import type { Source, SourceDirectory } from "./source-directory.js";
import { keysWithoutContents, suppressedItems, withoutContents } from "./suppressed.js";
import { invalidMessage, success } from "./verdict.js";
import { basicUser, type NamedKeys, namedKeys } from "./write-key.js";

export interface IngestOptions {
  readonly store: Store;
  readonly sources: SourceDirectory;
  readonly clock: Clock;
  readonly metrics: IngestMetrics;
  readonly live: LiveEvents;
  /** Default: nobody is suppressed. */
  readonly suppressions?: Pick<Suppressions, "isSuppressed"> | undefined;
  /** The region this collector runs as; undefined: regions are not configured, and it takes every key that it knows. */
  readonly region: Region | undefined;
  /** Base URLs of the regions, for clients that came to the wrong one. */
  readonly regionUrls: Readonly<Partial<Record<Region, string>>>;
  /** Messages a second of each source that has no limit of its own; `auto`: of those whose keys are public. Default: no limit. */
  readonly messagesPerSecond?: number | "auto" | undefined;
}

export interface Ingest {
  /** Takes the messages of one request: resolves when they are on disk, rejects with a `CollectorError` when none was taken. */
  take(
    request: Pick<HttpRequest, "headers" | "remoteAddress" | "vouch">,
    kind: MessageKind | undefined,
    readBody: () => Uint8Array | Promise<Uint8Array>,
  ): Promise<IngestSuccess>;
  /** The source of a write key, in this region; throws `invalid_write_key` or `wrong_region`. */
  authenticate(writeKey: string | undefined): Source;
}

/** A larger body that has to be parsed is parsed in slices, each in a turn of its own. */
const LIGHT_BYTES = LIMITS.messageBytes;

const NO_KEYS: ReadonlySet<string> = new Set();
const NOTHING: readonly never[] = [];

function keysDisagree(): CollectorError {
  return new CollectorError("invalid_write_key", "the body's key and the header's disagree");
}

export function createIngest(options: IngestOptions): Ingest {
  const { store, sources, clock, metrics, live } = options;
  const limiter = rateLimiter(clock);
  const remembered = rememberedCredentials(sources);
  const turn = oneATurn();

  /** Throws where more messages of the source are not taken now. Zero asks without counting. */
  const admit = (source: Source, messages: number): void => {
    const perSecond = source.rateLimit ?? rateOf(source, options.messagesPerSecond);
    if (perSecond === undefined) return;
    const seconds = limiter.admit(source.id, messages, perSecond);
    if (seconds === undefined) return;
    throw new CollectorError("rate_limited", `more than ${perSecond} messages a second`, {
      details: { retryAfterSeconds: seconds },
    });
  };
  const assertStoring = (): void => {
    const health = store.health();
    if (health.kind === "unavailable") throw new StorageUnavailable(health.reason);
  };

  const isElsewhere = (region: Region | undefined): region is Region =>
    region !== undefined && options.region !== undefined && region !== options.region;

  const wrongRegion = (region: Region): CollectorError => {
    const url = options.regionUrls[region];
    return new CollectorError(
      "wrong_region",
      `its region is ${region}${url === undefined ? "" : `: ${url}`}`,
      {
        details: { region, ...(url === undefined ? {} : { url }) },
      },
    );
  };

  const authenticate = (writeKey: string | undefined): Source =>
    checked(writeKey, writeKey === undefined ? undefined : sources.find(writeKey));

  const checked = (writeKey: string | undefined, source: Source | undefined): Source => {
    if (source === undefined) {
      const region = writeKey === undefined ? undefined : regionOfWriteKey(writeKey);
      if (isElsewhere(region)) throw wrongRegion(region);
      const reason =
        writeKey === undefined
          ? "no write key as Basic user name nor as `writeKey` in the body"
          : "no source has this write key";
      throw new CollectorError("invalid_write_key", reason);
    }
    if (isElsewhere(source.region)) throw wrongRegion(source.region);
    return source;
  };

  /** Who a request says that it is, if its headers say so. */
  const credentials = (header: string | undefined): Credentials | undefined => {
    const known = remembered.find(header);
    if (known !== undefined) return known;
    const writeKey = basicUser(header);
    if (writeKey === undefined) return undefined;
    const found = { writeKey, source: authenticate(writeKey) };
    if (header !== undefined) remembered.put(header, found);
    return found;
  };

  /** The sender that the body names. The body is scanned once and not parsed: anybody can send one. */
  const credentialsIn = (body: Uint8Array, kind: MessageKind | undefined): Credentials => {
    const writeKey = findWriteKey(body, kind === undefined);
    return { writeKey: writeKey as string, source: authenticate(writeKey) };
  };

  /** Keys in the body that are no key of the source which the request is for. */
  const foreignKeys = (named: NamedKeys, source: Source): ReadonlySet<string> => {
    const keys = named.ofRequest === undefined ? named.ofMessages : [named.ofRequest, ...named.ofMessages];
    if (keys.length === 0) return NO_KEYS;
    const foreign = new Set<string>();
    for (const key of keys) if (sources.find(key)?.id !== source.id) foreign.add(key);
    return foreign;
  };

  /** For the debugger. */
  const remember = (rejections: readonly Rejection[]): void => {
    store.rejections.add(rejections);
    if (live.watched) for (const rejection of rejections) live.publish({ kind: "rejected", rejection });
  };

  /** Counts a request of which nothing was taken, and remembers it for its source, if the header has told that. */
  const refuseWhole = (
    error: unknown,
    header: Credentials | undefined,
    body: Uint8Array | undefined,
  ): void => {
    if (!(error instanceof CollectorError || error instanceof StoreError)) return;
    const refusal = collectorErrorOf(error);
    metrics.refused(refusal.code);
    if (header === undefined) return;
    const { source, writeKey } = header;
    const { suppressions } = options;
    const from = { sourceId: source.id, receivedAtMs: clock.now(), writeKey, body, suppressions };
    const rejection = wholeRejection(refusal, from);
    if (rejection !== undefined) remember([rejection]);
  };

  /** What is known of a body without parsing it; undefined where it has to be parsed. */
  const skim = (body: Uint8Array, kind: MessageKind | undefined): SkimmedRequest | undefined => {
    const skimmed = skimRequest(body, kind);
    if (skimmed === undefined || skimmed.bytesAround > MAX_ENVELOPE_BYTES) return undefined;
    if (skimmed.bytesAround * skimmed.keys.length > MAX_UNFOLDED_BYTES) return undefined;
    return suppressedItems(skimmed.keys, options.suppressions).size > 0 ? undefined : skimmed;
  };

  const admitSkimmed = (
    body: Uint8Array,
    kind: MessageKind | undefined,
    { keys, writeKey }: SkimmedRequest,
    { source }: Credentials,
  ): Admitted => {
    if (writeKey !== undefined && sources.find(writeKey)?.id !== source.id) throw keysDisagree();
    admit(source, keys.length);
    const batch: NewBatch = {
      sourceId: source.id,
      receivedAtMs: clock.now(),
      body,
      itemCount: keys.length,
      skipped: NOTHING,
      madeIds: NOTHING,
      keys,
      ...(kind === undefined ? {} : { kind }),
    };
    return { batch, refusals: NOTHING };
  };

  const open = (body: Uint8Array, kind: MessageKind | undefined): OpenedRequest | Promise<OpenedRequest> =>
    body.length > LIGHT_BYTES ? inTurns(openInSlices(body, kind), turn) : openRequest(body, kind);

  /** What of a body is to be stored, and what is answered then. Nothing of the parsed body outlives this call. */
  const admitParsed = (
    opened: OpenedRequest,
    kind: MessageKind | undefined,
    { source, writeKey }: Credentials,
    request: Pick<HttpRequest, "remoteAddress">,
  ): Admitted => {
    const named = namedKeys(opened);
    const foreign = foreignKeys(named, source);
    if (named.ofRequest !== undefined && foreign.has(named.ofRequest)) throw keysDisagree();

    if (kind === undefined && !opened.isBatch) throw noBatch();
    const judgement = judge(opened, { isForeignKey: (key) => foreign.has(key), makeId: randomUUID });
    const { keys, refusals, madeIds } = judgement;
    admit(source, opened.items.length);
    const receivedAtMs = clock.now();
    if (refusals.length > 0) {
      metrics.rejected(refusals);
      const { suppressions } = options;
      remember(rejectionsOf(opened, refusals, { sourceId: source.id, receivedAtMs, writeKey, suppressions }));
    }
    if (keys.length === 0) return { batch: undefined, refusals };

    const suppressed = suppressedItems(keys, options.suppressions);
    const batch: NewBatch = {
      sourceId: source.id,
      receivedAtMs,
      ...(suppressed.size > 0
        ? { body: withoutContents(opened, suppressed) }
        : { body: opened.body, ...(kind === undefined ? {} : { kind }) }),
      ...(judgement.wantsIp ? { ip: request.remoteAddress } : {}),
      itemCount: opened.items.length,
      skipped: refusals.map(({ index }) => index),
      madeIds,
      keys: suppressed.size > 0 ? keysWithoutContents(keys, suppressed) : keys,
    };
    return { batch, refusals };
  };

  return {
    authenticate,
    async take(request, kind, readBody) {
      const { authorization } = request.headers;
      // What can be refused without the body is: it is neither held nor parsed then.
      let header: Credentials | undefined;
      try {
        header = credentials(authorization);
      } catch (error) {
        refuseWhole(error, undefined, undefined);
        throw error;
      }
      assertStoring();
      if (header !== undefined) {
        admit(header.source, 0);
        request.vouch();
      }
      let body: Uint8Array | undefined;
      let acknowledged = (): void => {};
      try {
        let admitted: Admitted;
        try {
          body = await readBody();
          // Checked before the body is parsed.
          let sender = header ?? credentialsIn(body, kind);
          if (header === undefined) admit(sender.source, 0);
          request.vouch();
          const scanned = skim(body, kind);
          const opened = scanned === undefined ? await open(body, kind) : undefined;
          // Keys and limits may have changed by now. From here to the log nothing waits, and a change waits for what is on its way.
          acknowledged = sources.begin();
          sender = credentials(authorization) ?? { ...sender, source: authenticate(sender.writeKey) };
          header = header && sender;
          admitted =
            scanned === undefined
              ? admitParsed(opened as OpenedRequest, kind, sender, request)
              : admitSkimmed(body, kind, scanned, sender);
        } catch (error) {
          refuseWhole(error, header, body);
          throw error;
        }
        const { batch, refusals } = admitted;
        if (kind !== undefined && refusals[0] !== undefined) throw invalidMessage(refusals[0]);
        if (batch === undefined) return success(0, refusals);
        const endTimer = metrics.appending();
        const { duplicates } = await store.log.append(batch).finally(endTimer);
        metrics.accepted(batch.keys.length, duplicates.length);
        return success(batch.keys.length, refusals, duplicates.length);
      } finally {
        acknowledged();
      }
    },
  };
}

/** What is left of a request while it waits for the disk. */
interface Admitted {
  /** Undefined when every message was refused. */
  readonly batch: NewBatch | undefined;
  readonly refusals: readonly Refusal[];
}
