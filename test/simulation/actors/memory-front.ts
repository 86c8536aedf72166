import { decideNext, type FailedAttempt } from "../../../apps/collector/src/cluster/front/decide-next.js";
import type { Front, FrontOptions } from "../../../apps/collector/src/cluster/front/front.js";
import { type WaitingRoom, waitingRoom } from "../../../apps/collector/src/cluster/front/waiting-room.js";
import { CollectorError } from "../../../apps/collector/src/errors.js";
import { errorAnswer } from "../../../apps/collector/src/http/connection/respond.js";
import type { Link } from "../world/link.js";
import { MemoryServer, type ServedAnswer, type ServedRequest, written } from "./memory-server.js";

/** Where another process of the cluster is reached. `not owner`: it did nothing. */
export type PassOn = (address: string, request: ServedRequest) => Promise<PassedOn>;
type PassedOn = ServedAnswer | "refused" | "cut" | "not owner";

/** How long a request waits for an owner, and before the same owner is tried again. As in the product. */
const WAIT_MS = 8_000;
const PAUSE_MS = 100;

/** Stands in for the front of a process of a cluster: serves requests while it owns the log, else passes them on to the owner. */
export class MemoryFront implements Front {
  readonly url: string;
  readonly port = 80;
  readonly adminUrl: string;
  /** Read for the process's health only, which no simulated client asks for. */
  readonly ownerSilentMs = 0;
  readonly #options: FrontOptions;
  readonly #passOn: PassOn;
  readonly #room: WaitingRoom;
  #server: MemoryServer | undefined;
  /** The owner to which requests are passed on, and what ends the wait for its answers. */
  #remote: { readonly key: string; readonly over: PromiseWithResolvers<"cut"> } | undefined;

  constructor(url: string, options: FrontOptions, passOn: PassOn) {
    this.url = url;
    this.adminUrl = url;
    this.#options = options;
    this.#passOn = passOn;
    this.#room = waitingRoom(options.clock);
  }

  get waiting(): number {
    return this.#room.waiting;
  }

  advertise(): void {}

  readonly startServer: Front["startServer"] = async (options) => {
    const server = new MemoryServer();
    const started = await server.start(options);
    this.#server = server;
    this.ownerChanged();
    return {
      ...started,
      close: async (graceMs) => {
        if (this.#server === server) this.#server = undefined;
        await started.close(graceMs);
      },
    };
  };

  ownerChanged(): void {
    this.#target();
    this.#room.wakeAll();
  }

  async close(): Promise<void> {
    this.cut();
  }

  /** Its process has ended. */
  cut(): void {
    this.#server?.cut();
    this.#server = undefined;
    this.#remote?.over.resolve("cut");
  }

  /** Another process has passed a request on. */
  async serveForPeer(request: ServedRequest): Promise<PassedOn> {
    const { clock, owner } = this.#options;
    const deadlineMs = clock.monotonic() + WAIT_MS;
    for (;;) {
      if (this.#server !== undefined) return this.#server.serve(request);
      const leftMs = deadlineMs - clock.monotonic();
      if (owner().kind !== "starting" || leftMs <= 0) return "not owner";
      await this.#change(leftMs);
    }
  }

  /** A client has sent a request. */
  async serve(request: ServedRequest): Promise<ServedAnswer | "refused" | "cut"> {
    const { clock } = this.#options;
    let deadlineMs = clock.monotonic() + WAIT_MS;
    let mayBeDone = false;
    for (;;) {
      const leftMs = deadlineMs - clock.monotonic();
      if (this.#server !== undefined) return this.#server.serve(request);
      const remote = this.#target();
      if (remote === undefined) {
        if (leftMs <= 0) return refusal(mayBeDone ? "owner_lost" : "no_owner");
        await this.#change(leftMs);
        continue;
      }
      const answer = await Promise.race([this.#passOn(remote.address, request), remote.over]);
      if (typeof answer !== "string") return answer;
      const failed: FailedAttempt = { kind: answer === "cut" ? "lost" : "not done", reason: answer };
      if (failed.kind === "lost" && !mayBeDone) deadlineMs = clock.monotonic() + WAIT_MS;
      const facts = {
        method: request.method,
        path: request.path,
        hasIdempotencyKey: request.headers["idempotency-key"] !== undefined,
        isKept: true,
        mayBeDone,
      };
      const next = decideNext(failed, facts, deadlineMs - clock.monotonic());
      mayBeDone ||= failed.kind === "lost";
      if (next.kind === "fail") return refusal(next.code);
      await this.#change(PAUSE_MS);
    }
  }

  #change(ms: number): Promise<void> {
    return this.#room.wait(ms, new AbortController().signal);
  }

  /** Undefined: this process serves requests itself, or there is no owner. */
  #target(): { readonly address: string; readonly over: Promise<"cut"> } | undefined {
    const owner = this.#options.owner();
    const key = this.#server === undefined && owner.kind === "other" ? `${owner.address} ${owner.term}` : "";
    if (this.#remote?.key !== key) {
      this.#remote?.over.resolve("cut");
      this.#remote = { key, over: Promise.withResolvers() };
    }
    if (key === "" || owner.kind !== "other") return undefined;
    return { address: owner.address, over: this.#remote.over.promise };
  }
}

function refusal(code: "no_owner" | "owner_lost"): ServedAnswer {
  return written(errorAnswer(new CollectorError(code, "simulated")));
}

/** Passes a request on over a network path. Never ends if the path is silent. */
export function passOver(link: Link, serve: () => Promise<PassedOn>): Promise<PassedOn> {
  return new Promise((resolve) => {
    link.exchange<{ readonly answer: PassedOn }>(
      async () => ({ answer: await serve() }),
      (end) => resolve(end.kind === "answered" ? end.answer.answer : end.kind),
    );
  });
}
