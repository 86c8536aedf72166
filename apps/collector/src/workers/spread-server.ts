import { backoffDelayMs, type CancelTimer, type Clock } from "@sluice/resilience";
import { checkPort, type HttpServer, type ServerOptions, type StartServer } from "../http/server.js";
import type { Logger } from "../process/telemetry/logger.js";
import type { IngestThread, IngestThreads, IngestThreadsUse } from "./ingest-threads.js";
import { headOf } from "./remote-routes.js";

export interface SpreadServerParts {
  readonly threads: Pick<IngestThreads, "count" | "ready" | "has" | "use">;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "error" | "info">;
  readonly start: StartServer;
  readonly use: Omit<IngestThreadsUse, "routes">;
}

/** How long the start waits for the threads, in milliseconds. Until they listen, this thread does. */
const LISTEN_MS = 10_000;
/** How long requests may take that this thread has when the threads listen again, in milliseconds. */
const HERE_MS = 10_000;
/** The pauses before it tries again to listen, here or in a thread. */
const AGAIN = { initialMs: 250, maxMs: 5_000, jitter: 0.2 } as const;
/** How long a thread may take to close beyond its requests. One that hangs is ended later, in milliseconds. */
const ANSWER_MS = 1_000;

/**
 * Listens on an address in several threads, and in this one only while none of them does: so requests of the control API, which the threads
 * pass on, do not wait for ingestion.
 */
export async function spreadServer(parts: SpreadServerParts, options: ServerOptions): Promise<HttpServer> {
  // Threads may share a port. Another process must not.
  if (options.port !== 0) await checkPort(options.host, options.port);
  const server = new SpreadServer(parts, options);
  await server.open();
  return server;
}

class SpreadServer implements HttpServer {
  readonly #parts: SpreadServerParts;
  readonly #options: ServerOptions;
  readonly #listening = new Set<IngestThread>();
  /** Threads that were asked to listen and have not answered. */
  readonly #asked = new Set<IngestThread>();
  /** This thread's own listener. */
  #here: HttpServer | undefined;
  /** Former listeners of this thread, which finish their requests. */
  readonly #finishing = new Set<Promise<void>>();
  #isClosing = false;
  #adjusting: Promise<void> = Promise.resolve();
  /** Since the last one that listened. */
  #failures = 0;
  #cancelAgain: CancelTimer | undefined;
  url = "";
  port: number;

  constructor(parts: SpreadServerParts, options: ServerOptions) {
    this.#parts = parts;
    this.#options = { ...options, isShared: true };
    this.port = options.port;
  }

  async open(): Promise<void> {
    const { threads, clock, start, use } = this.#parts;
    const here = await start(this.#options);
    this.#here = here;
    this.url = here.url;
    this.port = here.port;
    const all = Promise.withResolvers<void>();
    const cancel = clock.after(LISTEN_MS, all.resolve);
    this.#onListening = () => {
      if (this.#listening.size === threads.count) all.resolve();
    };
    threads.use({ ...use, routes: this.#options.routes }, (thread) => this.#changed(thread));
    for (const thread of threads.ready) this.#changed(thread);
    await all.promise;
    cancel();
    await this.#adjusting;
  }

  #onListening: () => void = () => {};

  /** A thread has become ready, or has ended. */
  #changed(thread: IngestThread): void {
    if (this.#parts.threads.has(thread)) void this.#listenIn(thread);
    else if (this.#listening.delete(thread)) this.#adjust();
  }

  async #listenIn(thread: IngestThread): Promise<void> {
    const { host, routes } = this.#options;
    if (this.#isClosing || this.#listening.has(thread) || this.#asked.has(thread)) return;
    this.#asked.add(thread);
    try {
      await thread.client.call("listen", [{ host, port: this.port }, routes.map(headOf)]);
    } catch (error) {
      if (this.#parts.threads.has(thread)) this.#failed("a thread cannot listen", error);
      return;
    } finally {
      this.#asked.delete(thread);
    }
    if (!this.#parts.threads.has(thread)) return;
    if (this.#isClosing) {
      await thread.client.call("closeServer", [0]).catch(() => {});
      return;
    }
    this.#failures = 0;
    this.#listening.add(thread);
    this.#adjust();
    this.#onListening();
  }

  /** Listens here while no thread does. */
  #adjust(): void {
    this.#adjusting = this.#adjusting
      .then(async () => {
        if (this.#isClosing) return;
        if (this.#listening.size === 0) {
          this.#here ??= await this.#parts.start({ ...this.#options, port: this.port });
        } else if (this.#here !== undefined) {
          const finished = this.#here.close(HERE_MS);
          this.#here = undefined;
          this.#finishing.add(finished);
          void finished.finally(() => this.#finishing.delete(finished));
        }
      })
      .catch((error: unknown) => this.#failed("cannot listen in place of the threads", error));
  }

  /** Logs it, and tries again later whatever does not listen by then. */
  #failed(what: string, error: unknown): void {
    const { logger, clock, threads } = this.#parts;
    logger.error(what, { error });
    if (this.#isClosing || this.#cancelAgain !== undefined) return;
    this.#failures += 1;
    this.#cancelAgain = clock.after(backoffDelayMs(this.#failures, AGAIN, clock.random()), () => {
      this.#cancelAgain = undefined;
      for (const thread of threads.ready) void this.#listenIn(thread);
      this.#adjust();
    });
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    this.#cancelAgain?.();
    await this.#adjusting;
    const { threads, clock } = this.#parts;
    const late = Promise.withResolvers<void>();
    const cancel = clock.after(graceMs + ANSWER_MS, late.resolve);
    const closed = threads.ready.map(({ client }) => client.call("closeServer", [graceMs]).catch(() => {}));
    await Promise.race([
      Promise.all([this.#here?.close(graceMs), ...closed, ...this.#finishing]),
      late.promise,
    ]);
    cancel();
  }
}
