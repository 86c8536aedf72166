import { findWriteKey, userHash } from "@sluice/event-log";
import type { MessageKind } from "@sluice/protocol";
import { isSpread, partitionsOf } from "../../../documents/source-partitions.js";
import { CollectorError } from "../../../errors.js";
import { errorAnswer } from "../../../http/connection/respond.js";
import type { HttpAnswer, HttpRequest } from "../../../http/routing/route.js";
import { eventLoopTurns } from "../../../ingest/messages/event-loop-turns.js";
import { basicUser } from "../../../ingest/sources/write-key.js";
import { type ControlSources, partitionOf, type SourcePlace } from "../../documents/control-sources.js";
import { answerOf, type Owners } from "../ask-owners.js";
import { type BatchPart, cutBatch } from "./cut-batch.js";
import { type UsersOfBatch, userOfMessage, usersOfBatch } from "./find-users.js";
import { mergeVerdicts, type PartVerdict } from "./merge-verdicts.js";

/** The messages of a request, whose body is at most as large as the path allows. */
export interface Taken {
  /** Where the owners are asked. */
  readonly path: string;
  /** The kind of a single message; undefined for a batch. */
  readonly kind: MessageKind | undefined;
  /** From the request's address; it replaces the header. */
  readonly writeKey?: string | undefined;
  readBody(): Uint8Array | Promise<Uint8Array>;
}

/** Takes the messages of one request, and answers as the collector of one partition would. */
export type TakeMessages = (request: HttpRequest, taken: Taken) => Promise<HttpAnswer>;

type PlaceOf = Pick<ControlSources, "placeOf">;

/** Sends each message to the partition of its user. */
export function takeMessages(sources: () => PlaceOf, owners: Owners): TakeMessages {
  const nextTurn = eventLoopTurns();
  return async (request, taken) => {
    const read = await readRequest(request, taken, sources);
    if (read.kind === "refused") return refusedAt(read, request, taken, owners);
    const { body, place, keyInBody } = read;
    const { parts, ownKey } = await partsOf(body, taken.kind, place, owners.partitions.length, nextTurn);
    const asked: AskedOfEach = {
      path: taken.path,
      // A part may lack the message that names the write key.
      authorization: parts.length > 1 && keyInBody !== undefined ? basicHeader(keyInBody) : undefined,
      areOfPartition: place !== undefined && isSpread(place),
    };
    // Nothing is stored while one of them has no owner.
    if (parts.length > 1)
      await Promise.all(parts.map(({ partition }) => owners.owned(partition, request.signal)));
    const verdicts: PartVerdict[] = [];
    const ask = async (some: readonly BatchPart[]): Promise<void> => {
      verdicts.push(...(await Promise.all(some.map((part) => verdictOf(owners, request, part, asked)))));
    };
    const isDoubtful = ownKey !== undefined && sources().placeOf(ownKey)?.sourceId !== place?.sourceId;
    // If the batch names another source's key, one owner refuses it, and lists it once.
    const together = isDoubtful ? 1 : parts.length;
    await ask(parts.slice(0, together));
    const [{ answer }] = verdicts as [PartVerdict];
    if (verdicts.length === 1 && (parts.length === 1 || answer.status !== 200)) return answerOf(answer);
    await ask(parts.slice(together));
    return mergeVerdicts(verdicts);
  };
}

type ReadRequest =
  | {
      readonly kind: "read";
      readonly body: Uint8Array;
      /** Undefined: this process does not know the source. */
      readonly place: SourcePlace | undefined;
      /** The write key, if only the body names it. */
      readonly keyInBody: string | undefined;
    }
  | RefusedRequest;

interface RefusedRequest {
  readonly kind: "refused";
  readonly reason: CollectorError;
  readonly place: SourcePlace;
}

async function readRequest(
  request: HttpRequest,
  { kind, writeKey, readBody }: Taken,
  sources: () => PlaceOf,
): Promise<ReadRequest> {
  const inHead = writeKey ?? basicUser(request.headers.authorization);
  const named = inHead === undefined ? undefined : sources().placeOf(inHead);
  if (named !== undefined) request.vouch();
  let body: Uint8Array;
  try {
    body = await readBody();
  } catch (reason) {
    if (reason instanceof CollectorError && named !== undefined)
      return { kind: "refused", reason, place: named };
    throw reason;
  }
  if (inHead !== undefined)
    return { kind: "read", body, place: sources().placeOf(inHead), keyInBody: undefined };
  const keyInBody = findWriteKey(body, kind === undefined);
  const place = keyInBody === undefined ? undefined : sources().placeOf(keyInBody);
  if (place !== undefined) request.vouch();
  return { kind: "read", body, place, keyInBody };
}

/** The owner of the source's home lists the request as refused, and counts it. */
async function refusedAt(
  { reason, place }: RefusedRequest,
  request: HttpRequest,
  { path }: Taken,
  owners: Owners,
): Promise<HttpAnswer> {
  const part: BatchPart = { partition: partitionOf(place), body: NOTHING, indexes: undefined };
  const asked = { path, authorization: undefined, areOfPartition: isSpread(place), refused: reason };
  return answerOf((await verdictOf(owners, request, part, asked)).answer);
}

const NOTHING = new Uint8Array(0);

interface CutRequest {
  readonly parts: readonly BatchPart[];
  /** The write key of a batch of several parts itself, besides those of its messages. */
  readonly ownKey?: string | undefined;
}

/** What cannot be cut goes to one partition, which answers with the reason. */
async function partsOf(
  body: Uint8Array,
  kind: MessageKind | undefined,
  place: SourcePlace | undefined,
  count: number,
  nextTurn: () => Promise<void>,
): Promise<CutRequest> {
  const whole = (partition: number): CutRequest => ({ parts: [{ partition, body, indexes: undefined }] });
  if (place === undefined || !isSpread(place)) return whole(partitionOf(place ?? {}));
  const partitions = partitionsOf(place, count);
  const home = partitions[0] as number;
  const seed = userHash(place.sourceId, 0);
  try {
    if (kind !== undefined)
      return whole(partitions[userOfMessage(body, kind, seed) % partitions.length] ?? home);
    const users = await usersOfBatch(body, seed, nextTurn);
    if (users === undefined) return whole(home);
    const parts = cutBatch(body, users, partitions);
    return parts.length === 1 ? { parts } : { parts, ownKey: keyAround(body, users) };
  } catch (error) {
    if (error instanceof CollectorError) return whole(home);
    throw error;
  }
}

/** The write key in the bytes around the messages of a batch. */
function keyAround(body: Uint8Array, { starts, ends }: UsersOfBatch): string | undefined {
  const around = Buffer.concat([body.subarray(0, starts[0]), body.subarray(ends.at(-1))]);
  return findWriteKey(around, false);
}

interface AskedOfEach {
  readonly path: string;
  readonly authorization: string | undefined;
  /** False: this process does not know the source, or it is not spread. The owner then refuses it if it is. */
  readonly areOfPartition: boolean;
  readonly refused?: CollectorError;
}

async function verdictOf(
  owners: Owners,
  request: HttpRequest,
  { partition, body, indexes }: BatchPart,
  { path, ...rest }: AskedOfEach,
): Promise<PartVerdict> {
  try {
    const messages = { body, ...rest };
    return { answer: await owners.ask(partition, request, { method: "POST", path, messages }), indexes };
  } catch (error) {
    // The client is gone: nobody reads the answer.
    if (!(error instanceof CollectorError) && !request.signal.aborted) throw error;
    const { status, headers = {}, body: refusal } = errorAnswer(error);
    const retryAfter = Number(headers["retry-after"]);
    return {
      answer: { status, body: refusal, ...(retryAfter > 0 ? { retryAfter } : {}) },
      indexes,
    };
  }
}

function basicHeader(writeKey: string): string {
  return `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`;
}
