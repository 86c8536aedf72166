import { randomUUID } from "node:crypto";
import type { NewBatch, ScannedRequest } from "@sluice/event-log";
import { isPlainObject, type MessageKind } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Suppressions } from "../documents/suppressions.js";
import type { IngestMetrics } from "./ingest-metrics.js";
import { noBatch, type OpenedRequest } from "./messages/open-request.js";
import type { ReadMessages } from "./messages/read-messages.js";
import { keysWithoutContents, suppressedItems, withoutContents } from "./messages/suppressed.js";
import { type Refusal, validateMessages } from "./messages/validate-messages.js";
import type { RejectionRecorder } from "./rejections.js";
import { rejectionsOf } from "./rejections.js";
import { type Authenticator, type Credentials, keysDisagree, namedKeys } from "./sources/authenticator.js";
import type { RateLimiter } from "./sources/rate-limit.js";
import type { Source, SourceDirectory } from "./sources/source-directory.js";

/** A request whose messages have been read. */
export interface ReceivedRequest {
  readonly sender: Credentials;
  readonly body: Uint8Array;
  /** The kind of a single message; undefined for a batch. */
  readonly kind: MessageKind | undefined;
  readonly remoteAddress: string;
  readonly messages: ReadMessages;
  /** It is admitted again. */
  readonly before?: AdmittedBefore | undefined;
}

/** What was counted when a request was admitted by former settings. */
export interface AdmittedBefore {
  readonly source: Source;
  readonly refusals: readonly Refusal[];
}

/** What remains of a request while its batch is written. It holds nothing of the parsed body. */
export interface Admitted {
  /** Undefined if every message was refused. */
  readonly batch: NewBatch | undefined;
  readonly refusals: readonly Refusal[];
}

/** A message that violated its source's tracking plan and was refused. */
export interface PlanRefusal {
  readonly sourceId: string;
  readonly atMs: number;
  readonly message: { readonly [field: string]: unknown };
  readonly violation: { readonly path: string; readonly message: string };
}

export interface AdmissionOptions {
  readonly sources: Pick<SourceDirectory, "planOf">;
  readonly onPlanRefusal?: ((refused: PlanRefusal) => void) | undefined;
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  readonly rejections: RejectionRecorder;
  readonly metrics: IngestMetrics;
  readonly clock: Clock;
  readonly suppressions?: Pick<Suppressions, "isSuppressed"> | undefined;
}

const NOTHING: readonly never[] = [];

/** Decides which messages of a request are stored, and in which bytes. Synchronous; throws if the whole request is refused. */
export function requestAdmission(options: AdmissionOptions): (request: ReceivedRequest) => Admitted {
  return (request) =>
    request.messages.kind === "scanned"
      ? admitScanned(request, request.messages.scan, options)
      : admitParsed(request, request.messages.opened, options);
}

/** The scanner only lets bodies through whose messages are all valid: they are stored as they arrived. */
function admitScanned(
  { sender: { source }, body, kind, before }: ReceivedRequest,
  { keys, writeKey }: ScannedRequest,
  { authenticator, limiter, clock }: AdmissionOptions,
): Admitted {
  if (writeKey !== undefined && authenticator.foreignKeys([writeKey], source).size > 0) throw keysDisagree();
  limiter.admit(source, keys.length, before?.source);
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
}

function admitParsed(request: ReceivedRequest, opened: OpenedRequest, options: AdmissionOptions): Admitted {
  const { kind, sender } = request;
  const { source, writeKey } = sender;
  const { metrics, suppressions } = options;
  const isForeignKey = checkNamedKeys(opened, sender, options.authenticator);
  if (kind === undefined && !opened.isBatch) throw noBatch();
  const sourcePlan = options.sources.planOf(source.id);
  const { keys, refusals, madeIds, wantsIp } = validateMessages(opened, {
    isForeignKey,
    makeId: randomUUID,
    plan: sourcePlan?.mode === "refuse" ? sourcePlan.plan : undefined,
  });
  options.limiter.admit(source, opened.items.length, request.before?.source);
  const receivedAtMs = options.clock.now();
  const refused = uncounted(refusals, request.before);
  if (refused.length > 0) {
    metrics.rejected(refused);
    tellOfPlan(opened, refused, { sourceId: source.id, atMs: receivedAtMs }, options);
    const from = { sourceId: source.id, receivedAtMs, writeKey, suppressions };
    options.rejections.add(rejectionsOf(opened, refused, from));
  }
  if (keys.length === 0) return { batch: undefined, refusals };

  const batch: NewBatch = {
    sourceId: source.id,
    receivedAtMs,
    ...(wantsIp ? { ip: request.remoteAddress } : {}),
    itemCount: opened.items.length,
    skipped: refusals.map(({ index }) => index),
    madeIds,
    ...storedContents(opened, keys, kind, suppressions),
  };
  return { batch, refusals };
}

function uncounted(refusals: readonly Refusal[], before: AdmittedBefore | undefined): readonly Refusal[] {
  if (before === undefined) return refusals;
  const counted = new Set(before.refusals.map(({ index }) => index));
  return refusals.filter(({ index }) => !counted.has(index));
}

function tellOfPlan(
  opened: OpenedRequest,
  refusals: readonly Refusal[],
  from: Pick<PlanRefusal, "sourceId" | "atMs">,
  { onPlanRefusal }: AdmissionOptions,
): void {
  if (onPlanRefusal === undefined) return;
  for (const { index, issues } of refusals) {
    const violation = issues.find(({ code }) => code === "plan_violation");
    const message = opened.items[index];
    if (violation !== undefined && isPlainObject(message)) onPlanRefusal({ ...from, message, violation });
  }
}

/** Throws if the request names another source's key; returns whether a key in its messages is another source's. */
function checkNamedKeys(
  opened: OpenedRequest,
  { source }: Credentials,
  authenticator: Authenticator,
): (writeKey: string) => boolean {
  const { ofRequest, ofMessages } = namedKeys(opened);
  if (ofRequest !== undefined && authenticator.foreignKeys([ofRequest], source).size > 0)
    throw keysDisagree();
  const foreign = authenticator.foreignKeys(ofMessages, source);
  return (writeKey) => foreign.has(writeKey);
}

/** The body and keys to store: as they arrived, or written anew without the contents of suppressed users' messages. */
function storedContents(
  opened: OpenedRequest,
  keys: NewBatch["keys"],
  kind: MessageKind | undefined,
  suppressions: Pick<Suppressions, "isSuppressed"> | undefined,
): Pick<NewBatch, "body" | "keys" | "kind"> {
  const suppressed = suppressedItems(keys, suppressions);
  if (suppressed.size === 0) return { body: opened.body, keys, ...(kind === undefined ? {} : { kind }) };
  return { body: withoutContents(opened, suppressed), keys: keysWithoutContents(keys, suppressed) };
}
