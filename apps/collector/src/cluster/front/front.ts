import type { IncomingMessage, ServerResponse } from "node:http";
import { KB } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { CollectorError } from "../../errors.js";
import { bufferBudget } from "../../http/body/buffer-budget.js";
import { forwardedFor } from "../../http/connection/forwarded.js";
import { hostRefusal, markPassedOn, peerAddress } from "../../http/connection/request-head.js";
import { type HttpMetrics, httpMetrics } from "../../http/http-metrics.js";
import type { HttpLimits } from "../../http/limits.js";
import type { ListenAddress } from "../../http/listeners.js";
import type { Route } from "../../http/routing.js";
import { createRouter, type Router } from "../../http/routing.js";
import {
  type HttpServer,
  type Listener,
  type OpenListener,
  openListener,
  type RouteServer,
  routeServer,
  type ServerOptions,
} from "../../http/server.js";
import type { Logger } from "../../process/telemetry/logger.js";
import type { Metrics } from "../../process/telemetry/metrics.js";
import { keptBodies } from "./kept-body.js";
import { type OwnerConnection, originForm, ownerConnection } from "./owner-connection.js";
import { Passing, type PassingParts, refuse, type Target } from "./passing.js";
import { type ListenerName, NOT_OWNER_HEADER, type Origin, originOf, PEER_HEADERS } from "./peer.js";
import { type WaitingRoom, waitingRoom } from "./waiting-room.js";

/** The owner of the log, as far as this process knows. */
export type Owner =
  | { readonly kind: "other"; readonly address: string; readonly term: number }
  /** This process catches up and starts its stages. */
  | { readonly kind: "starting" }
  | { readonly kind: "none" };

export interface FrontOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: HttpLimits;
  readonly public: ListenAddress;
  readonly admin: ListenAddress | undefined;
  readonly token: string;
  /** Of this process, whether it owns the log or not. */
  readonly metrics: Metrics;
  /** The routes that this process answers itself while it is not the owner. */
  readonly ownRoutes: (listener: ListenerName) => readonly Route[];
  readonly owner: () => Owner;
  /** A reason for having no owner, if this process knows one. */
  readonly trouble?: () => string | undefined;
  readonly onPassed: PassingParts["onEnd"];
  /** How long a request waits for an owner. Default: 8_000. */
  readonly waitMs?: number;
  /** Default: on node:http. Only the simulation replaces it. */
  readonly listen?: OpenListener;
  /** Connects to another process. Default: over the network. Only the simulation replaces it. */
  readonly connect?: (address: string) => OwnerConnection;
}

export interface Front {
  readonly url: string;
  readonly port: number;
  readonly adminUrl: string;
  /** Requests that wait for an owner. */
  readonly waiting: number;
  /** How long the owner has not answered requests that this process passed on, in milliseconds; 0 if it answered the last one. */
  readonly ownerSilentMs: number;
  /** Where other processes reach this one. Set before requests are passed on. */
  advertise(address: string): void;
  /** Serves the routes of the owner's collector at the addresses of this process, until the server is closed. */
  startServer(options: ServerOptions): Promise<HttpServer>;
  /** Looks at `owner` again. */
  ownerChanged(): void;
  close(graceMs: number): Promise<void>;
}

const WAIT_MS = 8_000;
const ASK_TIMEOUT_MS = 1_000;
/** Beyond it, requests without an owner are refused at once. */
const MAX_WAITING = 2_000;

/** Listens for as long as the process runs. Serves requests here while a collector's routes are attached; else passes them on to the owner. */
export async function openFront(options: FrontOptions): Promise<Front> {
  const front = new SwitchableFront(options);
  await front.listen();
  return front;
}

interface Attached {
  readonly server: RouteServer;
  readonly pending: { readonly requests: Set<UnderWay>; onNone: () => void };
}

interface UnderWay {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
}

interface OwnServer {
  readonly server: RouteServer;
  readonly find: Router;
}

/** The owner, in another process. */
interface Remote {
  readonly connection: OwnerConnection;
  readonly term: number;
  readonly over: AbortController;
}

/** About what the headers that a process adds have, all together. */
const PEER_HEADER_BYTES = KB;

class SwitchableFront implements Front {
  readonly #options: FrontOptions;
  readonly #attached = new Map<ListenerName, Attached>();
  readonly #own = new Map<ListenerName, OwnServer>();
  readonly #listeners = new Map<ListenerName, Listener>();
  readonly #passings = new Set<Passing>();
  readonly #room: WaitingRoom;
  readonly #parts: PassingParts;
  readonly #ownMetrics: HttpMetrics;
  #attachedMetrics: HttpMetrics | undefined;
  #remote: Remote | undefined;
  #self: OwnerConnection | undefined;
  #isClosing = false;
  /** Since when the owner has not answered. Undefined: it answered the last request. */
  #silentSinceMs: number | undefined;
  /** When the owner last answered, or became the owner. */
  #reachedMs = Number.NEGATIVE_INFINITY;
  #isAsking = false;

  constructor(options: FrontOptions) {
    this.#options = options;
    const { clock, limits, logger, metrics, token } = options;
    const budget = bufferBudget(limits.maxBufferedBytes, clock);
    const proxies = { count: limits.trustedProxies, headers: limits.proxyHeaders };
    this.#ownMetrics = httpMetrics(metrics, budget);
    this.#room = waitingRoom(clock);
    this.#parts = {
      clock,
      token,
      memory: keptBodies(limits.maxBufferedBytes, clock),
      clientOf: (message) => forwardedFor(message.headers, proxies) ?? peerAddress(message),
      target: () => this.#target(),
      change: (ms, signal) => this.#room.wait(ms, signal),
      self: () => this.#ownConnection(),
      serveHere: (name, message, response) => this.#serveHere(name, message, response),
      onEnd: options.onPassed,
      onAttempt: (failedSinceMs) => this.#attempted(failedSinceMs),
      onFailure: (error) => logger.error("request failed", { error }),
      trouble: options.trouble ?? (() => undefined),
      waitMs: options.waitMs ?? WAIT_MS,
    };
    const serverOf = (routes: readonly Route[]): OwnServer => ({
      server: routeServer({
        ...{ routes, clock, logger, metrics, limits, budget },
        httpMetrics: this.#ownMetrics,
      }),
      find: createRouter(routes),
    });
    for (const name of ["public", "admin"] as const) this.#own.set(name, serverOf(options.ownRoutes(name)));
  }

  get url(): string {
    return (this.#listeners.get("public") as Listener).url;
  }

  get port(): number {
    return (this.#listeners.get("public") as Listener).port;
  }

  get adminUrl(): string {
    return (this.#listeners.get("admin") ?? (this.#listeners.get("public") as Listener)).url;
  }

  get waiting(): number {
    return this.#room.waiting;
  }

  get ownerSilentMs(): number {
    if (this.#silentSinceMs === undefined) return 0;
    // Without requests, nothing else would show that it can be reached again.
    this.#askOwner();
    return this.#options.clock.monotonic() - this.#silentSinceMs;
  }

  /** `failedSinceMs`: when the attempt began that had no answer. Undefined: it was answered. */
  #attempted(failedSinceMs: number | undefined): void {
    if (failedSinceMs === undefined) this.#reached();
    else this.#silentSinceMs ??= Math.max(failedSinceMs, this.#reachedMs);
  }

  #reached(): void {
    this.#silentSinceMs = undefined;
    this.#reachedMs = this.#options.clock.monotonic();
  }

  #askOwner(): void {
    const target = this.#target();
    if (target.kind !== "owner" || this.#isAsking) return;
    this.#isAsking = true;
    const late = new AbortController();
    const cancel = this.#options.clock.after(ASK_TIMEOUT_MS, () => late.abort());
    const signal = AbortSignal.any([target.signal, late.signal]);
    target.connection.answers("/healthz", signal).then((isThere) => {
      cancel();
      this.#isAsking = false;
      if (isThere && !target.signal.aborted) this.#reached();
    });
  }

  async listen(): Promise<void> {
    const { admin, clock, listen = openListener } = this.#options;
    const limits = withRoomForPeers(this.#options.limits);
    const open = async (name: ListenerName, address: ListenAddress): Promise<void> => {
      const listener = await listen(
        { ...address, limits, clock, metrics: this.#connectionMetrics() },
        (message, response, expectsContinue) => this.#serve(name, message, response, expectsContinue),
      );
      this.#listeners.set(name, listener);
    };
    if (admin !== undefined) await open("admin", admin);
    try {
      await open("public", this.#options.public);
    } catch (error) {
      await this.#listeners.get("admin")?.close(0);
      throw error;
    }
  }

  advertise(address: string): void {
    this.#self = this.#connect(address);
  }

  async startServer(options: ServerOptions): Promise<HttpServer> {
    const name = options.name ?? "public";
    const listener = this.#listeners.get(name);
    if (listener === undefined) throw new Error(`The front has no address ${name}`);
    const { limits } = this.#options;
    const budget = options.budget ?? bufferBudget(limits.maxBufferedBytes, this.#options.clock);
    const metrics = options.httpMetrics ?? httpMetrics(options.metrics, budget);
    metrics.connections = this.#ownMetrics.connections;
    this.#attachedMetrics = metrics;
    const attached: Attached = {
      server: routeServer({ ...options, limits, budget, httpMetrics: metrics }),
      pending: { requests: new Set(), onNone: () => {} },
    };
    this.#attached.set(name, attached);
    this.ownerChanged();
    return {
      port: listener.port,
      url: listener.url,
      close: (graceMs) => this.#detach(name, attached, graceMs),
    };
  }

  ownerChanged(): void {
    // A former owner's answers do not count any more.
    this.#target();
    this.#room.wakeAll();
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    for (const passing of this.#passings) passing.endStream();
    await Promise.all([...this.#listeners.values()].map((listener) => listener.close(graceMs)));
    this.#remote?.over.abort();
    this.#remote?.connection.close();
    this.#self?.close();
  }

  /**
   * Lets the requests under way finish. New ones wait for the next owner. Without any grace, the log is lost: what the log does not
   * answer now may be answered much later, or never.
   */
  async #detach(name: ListenerName, attached: Attached, graceMs: number): Promise<void> {
    if (this.#attached.get(name) === attached) this.#attached.delete(name);
    if (this.#attached.size === 0) this.#attachedMetrics = undefined;
    attached.server.abortStreams();
    if (attached.pending.requests.size === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(graceMs, resolve);
      attached.pending.onNone = () => {
        cancel();
        resolve();
      };
    });
    if (graceMs === 0) for (const request of attached.pending.requests) refuseLost(request);
  }

  #serve(
    name: ListenerName,
    message: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
  ): void {
    if (message.headers[PEER_HEADERS.token] !== undefined) {
      const origin = originOf(message.headers, this.#options.token);
      for (const header of Object.values(PEER_HEADERS)) delete message.headers[header];
      if (origin !== undefined) {
        void this.#servePassedOn(origin, message, response, expectsContinue);
        return;
      }
    }
    this.#serveHere(name, message, response, expectsContinue);
  }

  #serveHere(
    name: ListenerName,
    message: IncomingMessage,
    response: ServerResponse,
    expectsContinue = false,
  ): void {
    const attached = this.#attached.get(name);
    if (attached !== undefined) serveAttached(attached, message, response, expectsContinue);
    else this.#serveAsFollower(name, message, response, expectsContinue);
  }

  #serveAsFollower(
    name: ListenerName,
    message: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
  ): void {
    const own = this.#own.get(name);
    const [, query] = (message.url ?? "/").split("?", 2);
    // The dashboard wants the metrics of the collector, and not those of this process.
    if (query !== "of=owner" && own?.find(pathOf(message)) !== undefined) {
      own.server.serve(message, response, expectsContinue);
      return;
    }
    if (this.#isClosing) response.shouldKeepAlive = false;
    // The owner would see another request: with the Host header that the passing adds, or none of several.
    const unclear = hostRefusal(message);
    if (unclear !== undefined) {
      refuse(message, response, unclear);
      return;
    }
    if (this.#room.waiting >= MAX_WAITING) {
      this.#options.onPassed("no_owner");
      refuse(message, response, new CollectorError("no_owner", "too many requests wait for an owner"));
      return;
    }
    const passing = new Passing(this.#parts, message, response, name);
    void this.#passOn(passing, response, expectsContinue);
  }

  async #passOn(passing: Passing, response: ServerResponse, expectsContinue: boolean): Promise<void> {
    this.#passings.add(passing);
    await passing.run(expectsContinue);
    this.#passings.delete(passing);
    // Its answer promised to keep the connection.
    if (!this.#isClosing) return;
    const closeIdle = (): void => {
      for (const listener of this.#listeners.values()) listener.closeIdle();
    };
    if (response.writableFinished) setImmediate(closeIdle);
    else response.once("close", () => setImmediate(closeIdle));
  }

  /** It is never passed on again: if this process is about to own the log it waits, else it tells the other process. */
  async #servePassedOn(
    origin: Origin,
    message: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
  ): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const { clock, owner, waitMs = WAIT_MS } = this.#options;
    const deadlineMs = clock.monotonic() + waitMs;
    for (;;) {
      const attached = this.#attached.get(origin.listener) ?? this.#attached.get("public");
      if (attached !== undefined) {
        markPassedOn(message, origin.client);
        serveAttached(attached, message, response, expectsContinue);
        return;
      }
      const leftMs = deadlineMs - clock.monotonic();
      if (owner().kind !== "starting" || leftMs <= 0 || gone.signal.aborted) break;
      await this.#room.wait(leftMs, gone.signal);
    }
    refuse(message, response, new CollectorError("no_owner"), {
      headers: { [NOT_OWNER_HEADER]: "1" },
    });
  }

  /** Where requests go now. Ends the connection to an owner that is none any more. */
  #target(): Target {
    if (this.#attached.has("public")) {
      this.#endRemote();
      return { kind: "here" };
    }
    const owner = this.#options.owner();
    if (owner.kind !== "other") return { kind: "none" };
    const known = this.#remote;
    if (known?.term === owner.term && known.connection.address === owner.address)
      return { kind: "owner", connection: known.connection, signal: known.over.signal };
    this.#endRemote();
    const connection = this.#connect(owner.address);
    const over = new AbortController();
    this.#remote = { connection, term: owner.term, over };
    return { kind: "owner", connection, signal: over.signal };
  }

  /** Another owner takes requests now: what is still under way at the former one will have no answer that counts. */
  #endRemote(): void {
    const ended = this.#remote;
    this.#remote = undefined;
    // The next owner is not to blame.
    this.#reached();
    ended?.over.abort(new Error("another process became the owner"));
    ended?.connection.close();
  }

  #connect(address: string): OwnerConnection {
    return (this.#options.connect ?? ownerConnection)(address);
  }

  #ownConnection(): OwnerConnection {
    if (this.#self === undefined) throw new Error("The address of this process is not known yet");
    return this.#self;
  }

  /** Connections are counted for this process, and for the collector that runs in it. */
  #connectionMetrics(): Pick<HttpMetrics, "connections" | "broken"> {
    const own = this.#ownMetrics;
    const attached = (): HttpMetrics | undefined => this.#attachedMetrics;
    return {
      get connections() {
        return own.connections;
      },
      set connections(count) {
        own.connections = count;
        const metrics = attached();
        if (metrics !== undefined) metrics.connections = count;
      },
      broken: (code) => (attached() ?? own).broken(code),
    };
  }
}

/** What one process takes from a client, another one takes from it, with the headers that are added. */
function withRoomForPeers(limits: HttpLimits): HttpLimits {
  return {
    ...limits,
    maxHeaders: limits.maxHeaders + Object.keys(PEER_HEADERS).length,
    maxHeaderBytes: limits.maxHeaderBytes + PEER_HEADER_BYTES,
  };
}

function pathOf({ url = "/" }: Pick<IncomingMessage, "url">): string {
  return originForm(url).split("?", 1)[0] as string;
}

function serveAttached(
  { server, pending }: Attached,
  message: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
): void {
  const request: UnderWay = { message, response };
  pending.requests.add(request);
  response.once("close", () => {
    pending.requests.delete(request);
    if (pending.requests.size === 0) pending.onNone();
  });
  server.serve(message, response, expectsContinue);
}

/** Answers a request that has no answer yet. Its handler may go on: the connection ends, so that no other request comes between. */
function refuseLost({ message, response }: UnderWay): void {
  if (response.headersSent) return;
  response.shouldKeepAlive = false;
  refuse(message, response, new CollectorError("owner_lost", "it does not own the log any more"));
}
