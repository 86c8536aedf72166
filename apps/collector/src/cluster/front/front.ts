import type { IncomingMessage, ServerResponse } from "node:http";
import { KB } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { CollectorError } from "../../errors.js";
import { bufferBudget } from "../../http/body/buffer-budget.js";
import { markPassedOn, peerAddress } from "../../http/connection/client-address.js";
import { forwardedFor } from "../../http/connection/forwarded.js";
import { hostRefusal } from "../../http/connection/host-header.js";
import { type HttpMetrics, httpMetrics } from "../../http/http-metrics.js";
import type { HttpLimits } from "../../http/limits.js";
import type { ListenAddress } from "../../http/listeners.js";
import type { Route } from "../../http/routing/route.js";
import { createRouter, type Router } from "../../http/routing/router.js";
import {
  type HttpServer,
  type Listener,
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

/** Who owns the partition, as far as this process knows. */
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
  /** Of this process, whether it owns the partition or not. */
  readonly metrics: Metrics;
  /** What this process answers itself while it is not the owner. */
  readonly ownRoutes: (listener: ListenerName) => readonly Route[];
  /** Default: of partition 0. */
  readonly owner: (partition?: number) => Owner;
  /** In a cluster of several partitions: which of them a request concerns. Default: 0. */
  readonly routing?: FrontRouting;
  /** What this process knows of why there may be no owner. Undefined: nothing. */
  readonly trouble?: () => string | undefined;
  readonly onPassed: PassingParts["onEnd"];
  /** How long a request waits for an owner. Default: 8_000. */
  readonly waitMs?: number;
}

/** How requests find their partition. */
export interface FrontRouting {
  /** What this process answers itself, whatever it owns. */
  readonly ownRoutes: (listener: ListenerName) => readonly Route[];
  /** What other processes of the cluster ask this one. */
  readonly peerRoutes: readonly Route[];
  /** The partition of a request. "body": its body names the write key. "spread": see `spreadRoutes`. */
  partitionOf(message: Pick<IncomingMessage, "method" | "url" | "headers">): number | "body" | "spread";
  /** Takes the requests of sources that are spread over several partitions. */
  readonly spreadRoutes: (listener: ListenerName) => readonly Route[];
  /** The partition of a request whose body is in memory. */
  partitionOfBody(message: IncomingMessage, body: Uint8Array): Promise<number>;
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
  /** Serves the routes of a partition's collector at the addresses of this process, until the server is closed. Default: partition 0. */
  startServer(options: ServerOptions, partition?: number): Promise<HttpServer>;
  /** The connections to the owner of a partition. */
  target(partition: number): Target;
  /** What this process knows of why there may be no owner. Undefined: nothing. */
  trouble(): string | undefined;
  /** Resolves at the next change of an owner, after `ms`, or when `signal` aborts. */
  change(ms: number, signal: AbortSignal): Promise<void>;
  /** This process, as others reach it. */
  self(): OwnerConnection;
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

/** The owner of a partition in another process. */
interface Remote {
  readonly connection: OwnerConnection;
  readonly term: number;
  readonly over: AbortController;
}

/** About what the headers that a process adds have, all together. */
const PEER_HEADER_BYTES = KB;

/** Where other processes of the cluster ask this one. */
const PEER_PATH = "/cluster/v1/";

class SwitchableFront implements Front {
  readonly #options: FrontOptions;
  /** By partition and listener. */
  readonly #attached = new Map<string, Attached>();
  readonly #own = new Map<ListenerName, OwnServer>();
  readonly #listeners = new Map<ListenerName, Listener>();
  readonly #passings = new Set<Passing>();
  readonly #room: WaitingRoom;
  readonly #parts: PassingParts;
  readonly #ownMetrics: HttpMetrics;
  #attachedMetrics: HttpMetrics | undefined;
  readonly #remotes = new Map<number, Remote>();
  readonly #routing: FrontRouting | undefined;
  /** With several partitions: what this process answers itself, whatever it owns. */
  readonly #always = new Map<ListenerName, OwnServer>();
  /** With several partitions: what takes requests of spread sources. */
  readonly #spread = new Map<ListenerName, RouteServer>();
  readonly #peers: RouteServer | undefined;
  #self: OwnerConnection | undefined;
  #isClosing = false;
  /** Since when the owner has not answered. Undefined: it answered the last request. */
  #silentSinceMs: number | undefined;
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
      target: (partition) => this.target(partition),
      change: (ms, signal) => this.change(ms, signal),
      self: () => this.self(),
      serveHere: (message, response, partition) => this.#serveIn("public", partition, message, response),
      onEnd: options.onPassed,
      onAttempt: (wasReached) => this.#attempted(wasReached),
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
    this.#routing = options.routing;
    for (const name of ["public", "admin"] as const) {
      this.#own.set(name, serverOf(options.ownRoutes(name)));
      if (options.routing === undefined) continue;
      this.#always.set(name, serverOf(options.routing.ownRoutes(name)));
      this.#spread.set(name, serverOf(options.routing.spreadRoutes(name)).server);
    }
    if (options.routing !== undefined) this.#peers = serverOf(options.routing.peerRoutes).server;
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

  #attempted(wasReached: boolean): void {
    this.#silentSinceMs = wasReached ? undefined : (this.#silentSinceMs ?? this.#options.clock.monotonic());
  }

  #askOwner(): void {
    const target = this.target(0);
    if (target.kind !== "owner" || this.#isAsking) return;
    this.#isAsking = true;
    const late = new AbortController();
    const cancel = this.#options.clock.after(ASK_TIMEOUT_MS, () => late.abort());
    const signal = AbortSignal.any([target.signal, late.signal]);
    target.connection.ask({ method: "GET", path: "/healthz", headers: [] }, signal).then((answer) => {
      cancel();
      this.#isAsking = false;
      if (answer.kind === "answered") this.#attempted(true);
    });
  }

  async listen(): Promise<void> {
    const { admin, clock } = this.#options;
    const limits = withRoomForPeers(this.#options.limits);
    const open = async (name: ListenerName, address: ListenAddress): Promise<void> => {
      const listener = await openListener(
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
    this.#self = ownerConnection(address);
  }

  async startServer(options: ServerOptions, partition = 0): Promise<HttpServer> {
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
    this.#attached.set(keyOf(partition, name), attached);
    this.ownerChanged();
    return {
      port: listener.port,
      url: listener.url,
      close: (graceMs) => this.#detach(keyOf(partition, name), attached, graceMs),
    };
  }

  trouble(): string | undefined {
    return this.#options.trouble?.();
  }

  change(ms: number, signal: AbortSignal): Promise<void> {
    return this.#room.wait(ms, signal);
  }

  ownerChanged(): void {
    this.#silentSinceMs = undefined;
    // A former owner's answers do not count any more.
    for (const partition of [...this.#remotes.keys()]) this.target(partition);
    this.#room.wakeAll();
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    for (const passing of this.#passings) passing.endStream();
    await Promise.all([...this.#listeners.values()].map((listener) => listener.close(graceMs)));
    for (const { over, connection } of this.#remotes.values()) {
      over.abort();
      connection.close();
    }
    this.#self?.close();
  }

  /**
   * Lets the requests under way finish. New ones wait for the next owner. Without any grace, the partition is lost: what the log does not
   * answer now may be answered much later, or never.
   */
  async #detach(key: string, attached: Attached, graceMs: number): Promise<void> {
    if (this.#attached.get(key) === attached) this.#attached.delete(key);
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
        if (this.#peers !== undefined && origin.client === "" && isPeerCall(message))
          this.#peers.serve(message, response, expectsContinue);
        else void this.#servePassedOn(origin, message, response, expectsContinue);
        return;
      }
    }
    delete message.headers[PEER_HEADERS.run];
    // Passed on, it would carry the token of this process, and be taken for its call.
    if (isPeerCall(message)) {
      refuse(message, response, new CollectorError("not_found"));
      return;
    }
    const always = this.#always.get(name);
    if (always?.find(pathOf(message)) !== undefined) {
      always.server.serve(message, response, expectsContinue);
      return;
    }
    const partition = this.#routing?.partitionOf(message) ?? 0;
    if (partition === "spread") this.#spread.get(name)?.serve(message, response, expectsContinue);
    else this.#serveIn(name, partition, message, response, expectsContinue);
  }

  /** Serves a request whose partition is known, or is to be read from its body. */
  #serveIn(
    name: ListenerName,
    partition: number | "body",
    message: IncomingMessage,
    response: ServerResponse,
    expectsContinue = false,
  ): void {
    const attached = partition === "body" ? undefined : this.#attached.get(keyOf(partition, name));
    if (attached !== undefined) serveAttached(attached, message, response, expectsContinue);
    else this.#serveAsFollower(name, partition, message, response, expectsContinue);
  }

  #serveAsFollower(
    name: ListenerName,
    partition: number | "body",
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
    const parts = { ...this.#parts, serveHere: this.#hereAs(name) };
    const routing = this.#routing;
    const wanted =
      partition !== "body" || routing === undefined
        ? { kind: "known" as const, partition: partition === "body" ? 0 : partition }
        : { kind: "in body" as const, find: (body: Uint8Array) => routing.partitionOfBody(message, body) };
    void this.#passOn(new Passing(parts, message, response, name, wanted), response, expectsContinue);
  }

  async #passOn(passing: Passing, response: ServerResponse, expectsContinue: boolean): Promise<void> {
    this.#passings.add(passing);
    await passing.run(expectsContinue);
    this.#passings.delete(passing);
    // Its answer promised to keep the connection.
    if (!this.#isClosing) return;
    const closeIdle = (): void => {
      for (const { server } of this.#listeners.values()) server.closeIdleConnections();
    };
    if (response.writableFinished) setImmediate(closeIdle);
    else response.once("close", () => setImmediate(closeIdle));
  }

  #hereAs(name: ListenerName): PassingParts["serveHere"] {
    return (message, response, partition) => this.#serveIn(name, partition, message, response);
  }

  /** It is never passed on again: if this process is about to own the partition it waits, else it tells the other process. */
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
      const { partition = 0 } = origin;
      const attached =
        this.#attached.get(keyOf(partition, origin.listener)) ??
        this.#attached.get(keyOf(partition, "public"));
      if (attached !== undefined) {
        markPassedOn(message, origin.client, origin);
        if (origin.run !== undefined) message.headers[PEER_HEADERS.run] = origin.run;
        serveAttached(attached, message, response, expectsContinue);
        return;
      }
      const leftMs = deadlineMs - clock.monotonic();
      if (owner(partition).kind !== "starting" || leftMs <= 0 || gone.signal.aborted) break;
      await this.#room.wait(leftMs, gone.signal);
    }
    refuse(message, response, new CollectorError("no_owner"), {
      headers: { [NOT_OWNER_HEADER]: "1" },
    });
  }

  target(partition: number): Target {
    if (this.#attached.has(keyOf(partition, "public"))) {
      this.#endRemote(partition);
      return { kind: "here" };
    }
    const owner = this.#options.owner(partition);
    if (owner.kind !== "other") return { kind: "none" };
    const known = this.#remotes.get(partition);
    if (known?.term === owner.term && known.connection.address === owner.address)
      return { kind: "owner", connection: known.connection, signal: known.over.signal };
    this.#endRemote(partition);
    const connection = ownerConnection(owner.address);
    const over = new AbortController();
    this.#remotes.set(partition, { connection, term: owner.term, over });
    return { kind: "owner", connection, signal: over.signal };
  }

  /** Another owner takes requests now: what is still under way at the former one will have no answer that counts. */
  #endRemote(partition: number): void {
    const ended = this.#remotes.get(partition);
    this.#remotes.delete(partition);
    ended?.over.abort(new Error("another process became the owner"));
    ended?.connection.close();
  }

  self(): OwnerConnection {
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

function keyOf(partition: number, name: ListenerName): string {
  return `${partition} ${name}`;
}

function pathOf({ url = "/" }: Pick<IncomingMessage, "url">): string {
  return originForm(url).split("?", 1)[0] as string;
}

/** As the other process would see it. */
function isPeerCall({ url = "/" }: Pick<IncomingMessage, "url">): boolean {
  return originForm(url).startsWith(PEER_PATH);
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
  refuse(message, response, new CollectorError("owner_lost", "it does not own the partition any more"));
}
