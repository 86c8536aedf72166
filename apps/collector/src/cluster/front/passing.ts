import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "@sluice/resilience";
import { CollectorError, collectorErrorOf } from "../../errors.js";
import {
  type ArrivingRequest,
  beginRequest,
  type Connection,
  endRequest,
  isConnectionBroken,
} from "../../http/connection/connection.js";
import { peerAddress, REQUEST_ID_HEADER, requestIdOf } from "../../http/connection/request-head.js";
import { errorAnswer, respond } from "../../http/connection/respond.js";
import { corsHeaders } from "../../http/routing.js";
import { decideNext, type FailedAttempt, type RequestFacts } from "./decide-next.js";
import { INGESTION, type KeptBodies, keepBody, type PassedBody, refusedLength } from "./kept-body.js";
import { type OwnerConnection, originForm } from "./owner-connection.js";
import { type ListenerName, passedOnHeaders } from "./peer.js";

/** Where requests go now. */
export type Target =
  | { readonly kind: "here" }
  | { readonly kind: "owner"; readonly connection: OwnerConnection; readonly signal: AbortSignal }
  /** There is no owner just now. */
  | { readonly kind: "none" };

export interface PassingParts {
  readonly clock: Clock;
  readonly token: string;
  readonly memory: KeptBodies;
  /** The address of the client, as the proxies say it. */
  readonly clientOf: (message: IncomingMessage) => string;
  readonly target: () => Target;
  /** Resolves at the next change of the target, after `ms`, or when `signal` aborts. */
  readonly change: (ms: number, signal: AbortSignal) => Promise<void>;
  /** This process, as others reach it. */
  readonly self: () => OwnerConnection;
  /** Serves a request here, whose body has not been read. */
  readonly serveHere: (name: ListenerName, message: IncomingMessage, response: ServerResponse) => void;
  readonly onEnd: (how: "answered" | "repeated" | "cut" | "no_owner" | "owner_lost") => void;
  /** Called with what should never be thrown. */
  readonly onFailure: (error: unknown) => void;
  /** A reason for having no owner, if one is known. */
  readonly trouble: () => string | undefined;
  /** How long a request waits for an owner, and a request with messages for its answer. */
  readonly waitMs: number;
  /** Called after each attempt at the owner. `failedSinceMs`: when one began that was not answered, by the monotonic clock. */
  readonly onAttempt: (failedSinceMs: number | undefined) => void;
}

/** Before the same owner is tried again. */
const PAUSE_MS = 100;
/** The owner may wait this long for the rest of a body that is passed on as it arrives. */
const ARRIVING_MS = 10_000;
/** The other process may have waited as long itself, and is about to say so. */
const GRACE_MS = 500;

/** One request of a client, from its arrival until the owner's answer has been passed back. */
export class Passing implements ArrivingRequest {
  readonly #parts: PassingParts;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  /** Of the client. The message forgets it when its body is passed on and ends early. */
  readonly #connection: Connection;
  readonly #listener: ListenerName;
  readonly #gone = new AbortController();
  #deadlineMs: number;
  #isRepeated = false;
  /** There was no answer in time. */
  #isLate = false;
  #mayBeDone = false;
  #broken: CollectorError | undefined;

  constructor(
    parts: PassingParts,
    message: IncomingMessage,
    response: ServerResponse,
    listener: ListenerName,
  ) {
    this.#parts = parts;
    this.#message = message;
    this.#connection = message.socket;
    this.#response = response;
    this.#listener = listener;
    this.#deadlineMs = parts.clock.monotonic() + parts.waitMs;
  }

  get isArriving(): boolean {
    return !this.#message.complete;
  }

  failBody(error: CollectorError): void {
    this.#broken = error;
    this.#gone.abort();
  }

  /** Ends it if it is a live stream, which would last until the client leaves. */
  endStream(): void {
    const type = this.#response.getHeader("content-type");
    if (this.#response.headersSent && String(type).startsWith("text/event-stream")) this.#response.destroy();
  }

  /** Never rejects. */
  async run(expectsContinue: boolean): Promise<void> {
    beginRequest(this.#connection, this);
    this.#response.once("close", () => {
      endRequest(this.#connection);
      this.#gone.abort();
    });
    const tooLarge = refusedLength(this.#message);
    if (tooLarge !== undefined) return this.#refuse(tooLarge);
    if (expectsContinue) this.#response.writeContinue();
    let body: PassedBody;
    try {
      body = await keepBody(
        this.#message,
        this.#parts.memory.of(this.#parts.clientOf(this.#message)),
        this.#gone.signal,
      );
    } catch {
      this.#refuse(this.#broken ?? new CollectorError("request_timeout", "the connection has ended"));
      return;
    }
    try {
      await this.#passOn(body);
    } catch (error) {
      const known = collectorErrorOf(error);
      if (known.code === "internal") this.#parts.onFailure(error);
      this.#refuse(known);
    } finally {
      if (body.kind === "kept") body.release();
    }
  }

  async #passOn(body: PassedBody): Promise<void> {
    for (;;) {
      const target = await this.#untilOwned();
      if (this.#broken !== undefined) return this.#refuse(this.#broken);
      if (this.#response.destroyed) return;
      if (target.kind === "none") return this.#fail("no process owns the log");
      if (target.kind === "here" && body.kind !== "kept")
        return this.#parts.serveHere(this.#listener, this.#message, this.#response);
      const failed = await this.#attempt(target, body);
      if (failed === undefined) return;
      const { code, reason } = await this.#next(failed, body);
      if (code !== undefined) return this.#fail(reason, code);
    }
  }

  /** The target, as soon as there is an owner; `none` at the deadline. */
  async #untilOwned(): Promise<Target> {
    const { clock, target, change } = this.#parts;
    for (;;) {
      const now = target();
      const leftMs = this.#deadlineMs - clock.monotonic();
      if (now.kind !== "none" || leftMs <= 0 || this.#gone.signal.aborted) return now;
      await change(leftMs, this.#gone.signal);
    }
  }

  /** Resolves with undefined if the client needs nothing more. */
  async #attempt(
    target: Exclude<Target, { kind: "none" }>,
    body: PassedBody,
  ): Promise<FailedAttempt | undefined> {
    const { token, self, onEnd, clock } = this.#parts;
    const beganMs = clock.monotonic();
    const connection = target.kind === "here" ? self() : target.connection;
    const origin = { client: peerAddress(this.#message), listener: this.#listener };
    const headers = passedOnHeaders(this.#message.rawHeaders, origin, token);
    const late = new AbortController();
    const signals = [this.#gone.signal, late.signal, ...(target.kind === "here" ? [] : [target.signal])];
    const cancel = this.#limitTime(body, late);
    const attempt = await connection.passOn(
      {
        ...{ message: this.#message, response: this.#response, connection: this.#connection },
        ...{ body, headers },
      },
      AbortSignal.any(signals),
    );
    cancel();
    this.#isLate = late.signal.aborted;
    const isClientsFault = this.#gone.signal.aborted || (body.kind === "streamed" && this.isArriving);
    const isReplaced = target.kind !== "here" && target.signal.aborted;
    if (attempt.kind === "answered") this.#parts.onAttempt(undefined);
    else if (!isClientsFault && !isReplaced) this.#parts.onAttempt(beganMs);
    switch (attempt.kind) {
      case "answered":
        onEnd(this.#isRepeated ? "repeated" : "answered");
        return undefined;
      case "cut":
        onEnd("cut");
        return undefined;
      default:
        // The client has disconnected.
        return this.#gone.signal.aborted && this.#broken === undefined ? undefined : attempt;
    }
  }

  /**
   * Ends an attempt that has no answer in time: the network between this process and the owner may be cut, which only shows in silence.
   * Other requests than those with messages may take minutes.
   */
  #limitTime(body: PassedBody, late: AbortController): () => void {
    if (!isIngestion(this.#message)) return () => {};
    const { clock } = this.#parts;
    const leftMs = this.#deadlineMs - clock.monotonic() + (body.kind === "streamed" ? ARRIVING_MS : 0);
    return clock.after(Math.max(0, leftMs) + GRACE_MS, () =>
      late.abort(new Error("the owner does not answer")),
    );
  }

  /** Waits before the next attempt; `code`: there is none. */
  async #next(
    failed: FailedAttempt,
    body: PassedBody,
  ): Promise<{ readonly code?: "no_owner" | "owner_lost"; readonly reason: string }> {
    const { clock, change, waitMs } = this.#parts;
    // Its own body is what ended the attempt.
    if (this.#broken !== undefined) return { reason: failed.reason };
    // A lost request may have been under way for long: it has the whole time again.
    if (failed.kind === "lost" && !this.#mayBeDone && !this.#isLate)
      this.#deadlineMs = clock.monotonic() + waitMs;
    const next = decideNext(failed, this.#facts(body), this.#deadlineMs - clock.monotonic());
    this.#mayBeDone ||= failed.kind === "lost";
    if (next.kind === "fail") return next;
    this.#isRepeated = true;
    await change(PAUSE_MS, this.#gone.signal);
    return { reason: failed.reason };
  }

  #facts(body: PassedBody): RequestFacts {
    const { method = "GET", url = "/", headers } = this.#message;
    return {
      method,
      path: originForm(url),
      hasIdempotencyKey: headers["idempotency-key"] !== undefined,
      isKept: body.kind !== "streamed",
      mayBeDone: this.#mayBeDone,
    };
  }

  #fail(reason: string, code: "no_owner" | "owner_lost" = this.#mayBeDone ? "owner_lost" : "no_owner"): void {
    this.#parts.onEnd(code);
    this.#refuse(new CollectorError(code, withTrouble(reason, this.#parts.trouble())));
  }

  #refuse(error: CollectorError): void {
    refuse(this.#message, this.#response, error, { connection: this.#connection });
  }
}

/** Why a request has no answer, and what is known of the cause. */
export function withTrouble(reason: string, trouble: string | undefined): string {
  return trouble === undefined ? reason : `${reason}; ${trouble}`;
}

/** Whether it is a request with messages. */
function isIngestion({ url = "/" }: IncomingMessage): boolean {
  return INGESTION.test(originForm(url));
}

/** Answers with an error. */
export function refuse(
  message: IncomingMessage,
  response: ServerResponse,
  error: CollectorError,
  more: { readonly headers?: Readonly<Record<string, string>>; readonly connection?: Connection } = {},
): void {
  const { headers = {}, connection = message.socket as Connection } = more;
  const requestId = requestIdOf(message.headers[REQUEST_ID_HEADER]);
  const answer = errorAnswer(error);
  const isBodyLost = isConnectionBroken(connection);
  if (isBodyLost) response.shouldKeepAlive = false;
  respond(
    message,
    response,
    { ...answer, body: { ...(answer.body as object), requestId } },
    {
      headers: {
        ...(isIngestion(message) ? corsHeaders(message.headers) : {}),
        ...headers,
        [REQUEST_ID_HEADER]: requestId,
      },
      isBodyLost,
    },
  );
}
