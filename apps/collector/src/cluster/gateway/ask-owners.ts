import { randomUUID } from "node:crypto";
import type { Clock } from "@sluice/resilience";
import { type SharedRun, writeSharedRun } from "../../admin/shared-runs/shared-run.js";
import { ID_LENGTH, randomText } from "../../documents/new-id.js";
import { CollectorError } from "../../errors.js";
import { retryHeaders } from "../../http/connection/respond.js";
import type { HttpAnswer, HttpRequest } from "../../http/routing/route.js";
import { decideNext, type FailedAttempt } from "../front/decide-next.js";
import type { Front } from "../front/front.js";
import type { AskedRequest, OwnerConnection } from "../front/owner-connection.js";
import { withTrouble } from "../front/passing.js";
import { type ListenerName, passedOnHeaders } from "../front/peer.js";

/** What is asked of the owner of a partition, on behalf of a client. */
export interface Question {
  /** Default: that of the client's request; GET for HEAD, because the answers are merged. */
  readonly method?: string;
  /** With the query. */
  readonly path: string;
  readonly body?: object | undefined;
  /** Instead of `body`: messages of a source. */
  readonly messages?: Messages | undefined;
  readonly signal?: AbortSignal;
  /** What it starts in several partitions, if it does. */
  readonly run?: string | undefined;
  /** It is not the request for which the client chose its `Idempotency-Key`. Default: false. */
  readonly isAside?: boolean;
}

interface Messages {
  /** JSON. */
  readonly body: Uint8Array;
  /** Instead of the client's header. */
  readonly authorization: string | undefined;
  /** The source is spread over several partitions, and they all belong to this one. */
  readonly areOfPartition: boolean;
  /** Why the body could not be read. The owner notes it, and answers with it. */
  readonly refused?: CollectorError;
}

/** The answer of a partition's owner. */
export interface PartAnswer {
  readonly partition: number;
  readonly status: number;
  /** Parsed; undefined if there is none. */
  readonly body: unknown;
  /** In seconds, if the answer says when to try again. */
  readonly retryAfter?: number;
}

/** What is asked for as a stream. */
export interface StreamQuestion extends Omit<Question, "signal"> {
  readonly signal: AbortSignal;
  /** Where a stream of events goes on. */
  readonly lastEventId?: string | undefined;
}

export interface Owners {
  readonly partitions: readonly number[];
  /** Names what a request starts in several partitions. */
  newRun(given?: Partial<SharedRun>): string;
  /** Resolves when the partition has an owner. Rejects with `no_owner` if there is none in time. */
  owned(partition: number, signal: AbortSignal): Promise<void>;
  /** Waits for an owner, and asks again where that is safe. Rejects with `no_owner` or `owner_lost`. */
  ask(partition: number, request: HttpRequest, question: Question): Promise<PartAnswer>;
  /** The chunks of a stream, once it has begun. Waits for an owner as `ask` does. */
  stream(
    partition: number,
    request: HttpRequest,
    question: StreamQuestion,
  ): Promise<AsyncIterable<Uint8Array> | PartAnswer>;
}

export interface OwnersParts {
  readonly front: () => Front;
  readonly token: string;
  readonly clock: Clock;
  readonly partitions: number;
  readonly listener: ListenerName;
  /** Called at the end of each request with messages that another process was to take, as for those that the front passes on. */
  readonly onPassed: (result: "answered" | "repeated" | "no_owner" | "owner_lost") => void;
}

const WAIT_MS = 8_000;
const PAUSE_MS = 100;
/** They describe the body that came, which is not the one that is sent. */
const OF_THE_BODY: ReadonlySet<string> = new Set([
  ...["content-length", "content-encoding", "content-type", "accept-encoding", "idempotency-key"],
  // The first process has read them: it says which client it is.
  ...["x-forwarded-for", "forwarded", "x-real-ip"],
  // Each partition has its own.
  "last-event-id",
]);

/** Asks the owners of partitions on behalf of a client, with the client's own credentials. */
export function askOwners(parts: OwnersParts): Owners {
  const { front, clock, onPassed } = parts;
  return {
    partitions: Array.from({ length: parts.partitions }, (_, index) => index),
    newRun: (given) => writeSharedRun({ name: randomText(ID_LENGTH), createdAtMs: clock.now(), ...given }),
    async owned(partition, signal) {
      await ownerOf(parts, partition, clock.monotonic() + WAIT_MS, signal).catch((error: unknown) => {
        if (error instanceof CollectorError && error.code === "no_owner") onPassed("no_owner");
        throw error;
      });
    },
    async ask(partition, request, question) {
      const passed = question.messages === undefined ? () => {} : onPassed;
      try {
        const { answer, isHere, isRepeated } = await askOwner(parts, partition, request, question);
        if (!isHere) passed(isRepeated ? "repeated" : "answered");
        return answer;
      } catch (error) {
        const { code } = error as { readonly code?: string };
        if (code === "no_owner" || code === "owner_lost") passed(code);
        throw error;
      }
    },
    async stream(partition, request, { method = "GET", path, body, run, signal, lastEventId }) {
      const deadlineMs = clock.monotonic() + WAIT_MS;
      const asked = askedRequest({ method, path, body, run }, request, partition, parts);
      if (lastEventId !== undefined) asked.headers.push("last-event-id", lastEventId);
      for (;;) {
        const owner = await ownerOf(parts, partition, deadlineMs, signal);
        const answer = await owner.connection.stream(asked, AbortSignal.any([signal, ...owner.over]));
        if (answer.kind === "answered")
          return answer.status === 200 ? answer.chunks : refusedStream(partition, answer);
        throwIfGone(signal);
        if (clock.monotonic() >= deadlineMs)
          throw new CollectorError("no_owner", inPartition(partition, answer));
        await front().change(PAUSE_MS, signal);
      }
    },
  };
}

async function askOwner(
  parts: OwnersParts,
  partition: number,
  request: HttpRequest,
  question: Question,
): Promise<{ readonly answer: PartAnswer; readonly isHere: boolean; readonly isRepeated: boolean }> {
  const { front, clock } = parts;
  const { method = methodOf(request), path, body, messages, signal = request.signal, run } = question;
  const asked = askedRequest({ method, path, body, messages, run }, request, partition, parts);
  // With it, a change can be asked for again after its owner was lost.
  if (method !== "GET") asked.headers.push("idempotency-key", idempotencyKey(request, question));
  const facts = { method, path, hasIdempotencyKey: method !== "GET", isKept: true };
  let deadlineMs = clock.monotonic() + WAIT_MS;
  let mayBeDone = false;
  for (let isRepeated = false; ; isRepeated = true) {
    const { connection, over, isHere } = await ownerOf(parts, partition, deadlineMs, signal);
    const answer = await connection.ask(asked, AbortSignal.any([signal, ...over]));
    if (answer.kind === "answered") return { answer: { partition, ...parsed(answer) }, isHere, isRepeated };
    throwIfGone(signal);
    // What is lost may have been under way for long: it has the whole time again.
    if (answer.kind === "lost" && !mayBeDone) deadlineMs = clock.monotonic() + WAIT_MS;
    const next = decideNext(answer, { ...facts, mayBeDone }, deadlineMs - clock.monotonic());
    mayBeDone ||= answer.kind === "lost";
    if (next.kind === "fail")
      throw new CollectorError(next.code, withTrouble(inPartition(partition, answer), front().trouble()));
    await front().change(PAUSE_MS, signal);
  }
}

function idempotencyKey({ headers }: HttpRequest, { isAside = false }: Question): string {
  const given = headers["idempotency-key"];
  return typeof given === "string" && !isAside ? given : randomUUID();
}

function methodOf({ method }: HttpRequest): string {
  return method === "HEAD" ? "GET" : method;
}

/** Nobody reads the answer any more. That is no failure of the collector. */
function throwIfGone(signal: AbortSignal): void {
  if (signal.aborted) throw new CollectorError("request_timeout", "the connection has ended");
}

async function refusedStream(
  partition: number,
  { status, chunks }: { readonly status: number; readonly chunks: AsyncIterable<Uint8Array> },
): Promise<PartAnswer> {
  const read: Uint8Array[] = [];
  for await (const chunk of chunks) read.push(chunk);
  return { partition, ...parsed({ status, body: Buffer.concat(read) }) };
}

function inPartition(partition: number, { reason }: FailedAttempt): string {
  return `partition ${partition}: ${reason}`;
}

interface FoundOwner {
  readonly connection: OwnerConnection;
  /** Abort as soon as there is another owner: the former one may never answer. */
  readonly over: readonly AbortSignal[];
  /** It is this process. */
  readonly isHere: boolean;
}

async function ownerOf(
  { front, clock }: OwnersParts,
  partition: number,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<FoundOwner> {
  for (;;) {
    throwIfGone(signal);
    const target = front().target(partition);
    if (target.kind === "here") return { connection: front().self(), over: [], isHere: true };
    if (target.kind === "owner")
      return { connection: target.connection, over: [target.signal], isHere: false };
    const leftMs = deadlineMs - clock.monotonic();
    if (leftMs <= 0)
      throw new CollectorError(
        "no_owner",
        withTrouble(`no process owns partition ${partition}`, front().trouble()),
      );
    await front().change(leftMs, signal);
  }
}

function askedRequest(
  { method, path, body, messages, run }: Omit<Question, "signal"> & { readonly method: string },
  { headers, remoteAddress: client }: HttpRequest,
  partition: number,
  { token, listener }: OwnersParts,
): AskedRequest {
  const replaced = messages?.authorization === undefined ? undefined : "authorization";
  const raw = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || OF_THE_BODY.has(name) || name === replaced
      ? []
      : [name, Array.isArray(value) ? value.join(", ") : value],
  );
  const bytes = messages?.body ?? (body === undefined ? undefined : Buffer.from(JSON.stringify(body)));
  if (bytes !== undefined) raw.push("content-type", "application/json");
  if (messages?.authorization !== undefined) raw.push("authorization", messages.authorization);
  const { areOfPartition: isOfPartition = false, refused } = messages ?? {};
  const origin = { client, listener, partition, run, isOfPartition, refused };
  return {
    ...{ method, path, headers: passedOnHeaders(raw, origin, token) },
    ...(bytes === undefined ? {} : { body: bytes }),
  };
}

function parsed({ status, headers = {}, body }: AnsweredPart): Omit<PartAnswer, "partition"> {
  const retryAfter = Number(headers["retry-after"]);
  return {
    status,
    body: body.length === 0 ? undefined : JSON.parse(Buffer.from(body).toString("utf8")),
    ...(retryAfter > 0 ? { retryAfter } : {}),
  };
}

interface AnsweredPart {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body: Uint8Array;
}

/** The answer for the client. */
export function answerOf({ status, body, retryAfter }: Omit<PartAnswer, "partition">): HttpAnswer {
  return {
    status,
    ...(retryAfter === undefined ? {} : { headers: retryHeaders(status, String(retryAfter)) }),
    ...(body === undefined ? {} : { body: body as object }),
  };
}
