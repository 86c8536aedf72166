import type { IncomingMessage, ServerResponse } from "node:http";
import { CollectorError } from "../../errors.js";
import { clientGroup } from "../body/amounts-by-address.js";
import type { BufferBudget } from "../body/buffer-budget.js";
import { type BodyProgress, dropBody, readBody } from "../body/read-body.js";
import type { HttpRequest } from "../routing.js";
import { isLoopback } from "../routing.js";
import { forwardedFor, hostsOf, isForwarded, originOf, type TrustedProxies } from "./forwarded.js";
import { isPassedOn, peerAddress } from "./request-head.js";

const GAVE_WAY = "the body arrived too slowly while others waited for memory";

/** A node:http request as handlers see it. Rarely used parts are made on first use. */
export class IncomingRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
  readonly #queryText: string;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #budget: BufferBudget;
  readonly #trustedProxies: TrustedProxies;
  readonly #aborts: Set<AbortController>;
  #progress: BodyProgress | undefined;
  #isVouchedFor = false;
  #expectsContinue: boolean;
  #query: URLSearchParams | undefined;
  #abort: AbortController | undefined;

  constructor(
    message: IncomingMessage,
    response: ServerResponse,
    target: { path: string; query: string; params: Readonly<Record<string, string>> },
    options: {
      budget: BufferBudget;
      trustedProxies: TrustedProxies;
      expectsContinue: boolean;
      /** Holds the controllers of requests that asked for a signal, until they end. */
      aborts: Set<AbortController>;
    },
  ) {
    this.method = message.method ?? "GET";
    this.path = target.path;
    this.params = target.params;
    this.headers = message.headers;
    this.#queryText = target.query;
    this.#message = message;
    this.#response = response;
    this.#budget = options.budget;
    this.#trustedProxies = options.trustedProxies;
    this.#aborts = options.aborts;
    this.#expectsContinue = options.expectsContinue;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.#queryText);
    return this.#query;
  }

  get remoteAddress(): string {
    return forwardedFor(this.headers, this.#trustedProxies) ?? this.#peerAddress;
  }

  get #peerAddress(): string {
    return peerAddress(this.#message);
  }

  get hosts(): readonly string[] {
    return hostsOf(this.headers, this.#trustedProxies);
  }

  get origin(): string {
    return originOf(this.headers, this.#trustedProxies);
  }

  get isLocal(): boolean {
    const { host = "" } = this.headers;
    // nginx without any settings forwards in HTTP/1.0, under its own name for the collector and without a mark.
    const isDirect = this.#message.httpVersion !== "1.0" && !isForwarded(this.headers);
    return isDirect && !isPassedOn(this.#message) && isLoopback(this.#peerAddress) && isLoopback(host);
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const controller = new AbortController();
      this.#abort = controller;
      // The client has left before anybody asked.
      if (this.#response.closed) {
        controller.abort();
        return controller.signal;
      }
      this.#aborts.add(controller);
      this.#response.once("close", () => {
        this.#aborts.delete(controller);
        controller.abort();
      });
    }
    return this.#abort.signal;
  }

  vouch(): void {
    this.#isVouchedFor = true;
    this.#progress?.hold.vouch();
  }

  readBody(limitBytes: number): Promise<Uint8Array> {
    this.#sendContinue(limitBytes);
    return readBody(this.#message, limitBytes, this.#body());
  }

  dropBody(limitBytes: number): Promise<void> {
    this.#sendContinue(limitBytes);
    return dropBody(this.#message, limitBytes, this.#body());
  }

  #sendContinue(limitBytes: number): void {
    if (!this.#expectsContinue || Number(this.headers["content-length"]) > limitBytes) return;
    this.#expectsContinue = false;
    this.#response.writeContinue();
  }

  #body(): BodyProgress {
    if (this.#progress === undefined) {
      const giveWay = (): void => this.failBody(new CollectorError("overloaded", GAVE_WAY));
      this.#progress = { hold: this.#budget.hold(clientGroup(this.remoteAddress), giveWay) };
      if (this.#isVouchedFor) this.#progress.hold.vouch();
    }
    return this.#progress;
  }

  /** The client waits for `100 Continue` and has not received it. */
  get isBodyHeldBack(): boolean {
    return this.#expectsContinue;
  }

  /** Whether the body has not arrived completely. */
  get isArriving(): boolean {
    return !this.#message.complete;
  }

  /** The rest of the body will not arrive: reading it, now or later, fails with the error. */
  failBody(error: CollectorError): void {
    const progress = this.#body();
    progress.error = error;
    progress.fail?.(error);
  }

  /** Releases the memory of the body, after the response. */
  release(): void {
    this.#progress?.hold.release();
  }
}
