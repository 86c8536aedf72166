import { AsyncLocalStorage } from "node:async_hooks";
import {
  type CallContext,
  createEngine,
  type Engine,
  type Platform,
  resolveOptions,
  type Transport,
  type TransportOutcome,
} from "@sluice/core";
import { Link } from "../world/link.js";
import { Machine, ProcessClock } from "../world/machine.js";
import type { World } from "../world/world.js";
import type { History } from "./history.js";
import type { ServedAnswer } from "./memory-server.js";
import { MemorySpool } from "./memory-spool.js";
import type { Site } from "./site.js";

export interface SdkPlan {
  readonly name: string;
  /** The index of its source. */
  readonly source: number;
  readonly flushAt: number;
  readonly flushAfterMs: number;
  readonly maxInFlight: number;
  readonly maxRetries: number;
  readonly maxTotalRetryMs: number;
  readonly maxQueueSize: number;
  readonly eager: boolean;
  /** Keeps unsent messages on disk. */
  readonly spools: boolean;
}

interface Running {
  readonly engine: Engine;
  readonly clock: ProcessClock;
  readonly run: number;
  /** Messages that it accepted and has not reported yet. */
  held: number;
  mostHeld: number;
}

export interface SdkActorOptions {
  readonly world: World;
  readonly history: History;
  readonly collector: Site;
  readonly plan: SdkPlan;
  readonly sourceId: string;
  readonly writeKey: string;
}

/** An application with the real SDK engine. Its runs end with a crash, or with `close()`. */
export class SdkActor {
  readonly machine: Machine;
  readonly link: Link;
  readonly #options: SdkActorOptions;
  readonly #spool: MemorySpool | undefined;
  #running: Running | undefined;
  #runs = 0;
  #made = 0;

  constructor(options: SdkActorOptions) {
    const { world, plan } = options;
    this.#options = options;
    this.machine = new Machine(world, plan.name);
    this.link = new Link(world, plan.name);
    this.#spool = plan.spools ? new MemorySpool() : undefined;
  }

  get plan(): SdkPlan {
    return this.#options.plan;
  }

  get engine(): Engine | undefined {
    return this.#running?.engine;
  }

  start(): void {
    if (this.#running !== undefined) return;
    const { world, plan } = this.#options;
    this.#runs += 1;
    const run = this.#runs;
    const clock = new ProcessClock(this.machine, world.random.fork(`${plan.name} ${run}`));
    const engine = createEngine(this.#resolvedOptions(), this.#platform(clock, run), this.#spool?.mount());
    const running: Running = { engine, clock, run, held: 0, mostHeld: 0 };
    this.#running = running;
    world.note(`${plan.name} starts, run ${run}`);
    const report = (kind: "delivered" | "failed" | "refused", messageIds: readonly string[]): void => {
      if (!clock.isAlive) return;
      running.held -= messageIds.length;
      for (const messageId of messageIds)
        this.#options.history.reports.push({ sdk: plan.name, run, messageId, kind });
    };
    engine.on("delivered", ({ messageIds }) => report("delivered", messageIds));
    engine.on("failed", ({ detail }) =>
      report(
        "failed",
        detail.messages.map(({ messageId }) => messageId),
      ),
    );
    engine.on("refused", ({ detail }) =>
      report(
        "refused",
        detail.messages.map(({ messageId }) => messageId),
      ),
    );
  }

  /** The application calls the SDK. */
  take(
    kind: "track" | "identify",
    fields: { readonly userId: string; readonly [field: string]: unknown },
  ): void {
    const running = this.#running;
    if (running === undefined) return;
    const { world, history, plan } = this.#options;
    const receipt = running.engine.take(kind, fields);
    if (receipt.accepted) running.held += 1;
    running.mostHeld = Math.max(running.mostHeld, running.held);
    history.users.set(receipt.messageId, fields.userId);
    history.calls.push({
      sdk: plan.name,
      run: running.run,
      messageId: receipt.messageId,
      accepted: receipt.accepted,
      atMs: world.elapsedMs,
    });
  }

  /** Another client of the same source sends some of the last messages again, and some new ones with them. */
  sendAgain(again: number, fresh: number): void {
    const { history, plan, writeKey } = this.#options;
    const old = history.calls
      .filter(({ sdk, accepted }) => sdk === plan.name && accepted)
      .slice(-again || Infinity);
    const ids = old.map(({ messageId }) => messageId);
    for (let index = 0; index < fresh; index++) ids.push(`${plan.name}-again-${++this.#made}`);
    const batch = ids.map((messageId) => {
      const userId = history.users.get(messageId) ?? "u0";
      history.users.set(messageId, userId);
      return { type: "track", event: "Imported", userId, messageId };
    });
    const headers = { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}` };
    const body = Buffer.from(JSON.stringify({ batch }));
    this.link.exchange<ServedAnswer>(
      () => this.#deliver("/v1/batch", headers, body),
      () => {},
    );
  }

  /** The application ends without warning. */
  crash(): void {
    if (this.#running === undefined) return;
    this.#options.world.note(`${this.plan.name} crash`);
    this.#notePeak();
    this.#running.clock.stop();
    this.#spool?.crash();
    this.#running = undefined;
  }

  /** The application ends with `close()`. */
  async close(timeoutMs: number): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    await running.engine.close(timeoutMs);
    if (this.#running !== running) return;
    this.#notePeak();
    this.#options.history.closed.add(`${this.plan.name} ${running.run}`);
    running.clock.stop();
    this.#running = undefined;
  }

  #notePeak(): void {
    const running = this.#running;
    if (running === undefined) return;
    const { name: process, spools } = this.plan;
    const { peaks } = this.#options.history;
    const { peakQueued } = running.engine.stats();
    peaks.push({ process, what: "messages by its own count", most: peakQueued });
    // A spool keeps on disk what it reports later.
    if (!spools)
      peaks.push({ process, what: "messages that nothing was reported about", most: running.mostHeld });
    peaks.push({ process, what: "timers", most: running.clock.peakPending });
  }

  #resolvedOptions(): ReturnType<typeof resolveOptions> {
    const { plan, writeKey } = this.#options;
    return resolveOptions({
      writeKey,
      host: "http://collector",
      flushAt: plan.flushAt,
      flushAfter: plan.flushAfterMs,
      flushPolicy: plan.eager ? "eager" : "batched",
      maxInFlight: plan.maxInFlight,
      maxRetries: plan.maxRetries,
      maxTotalRetryMs: plan.maxTotalRetryMs,
      maxQueueSize: plan.maxQueueSize,
      quiet: true,
    });
  }

  #platform(clock: ProcessClock, run: number): Platform {
    const { name } = this.plan;
    const transport = this.#transport(clock);
    return {
      clock,
      defer: (task) => {
        setImmediate(() => {
          if (clock.isAlive) task();
        });
      },
      hold: () => () => {},
      newMessageId: () => `${name}-${run}-${++this.#made}`,
      gzip: async () => {
        throw new Error("The simulated runtime has no gzip");
      },
      defaultTransport: () => transport,
      newContextStorage: () => {
        const storage = new AsyncLocalStorage<CallContext>();
        return { get: () => storage.getStore(), run: (context, work) => storage.run(context, work) };
      },
      warn: () => {},
      userAgent: "simulation/1",
    };
  }

  #transport(clock: ProcessClock): Transport {
    return {
      send: ({ url, headers, body }, signal) =>
        new Promise<TransportOutcome>((resolve) => {
          const bytes = Buffer.from(body);
          const onAbort = (): void => {
            stop();
            resolve({ kind: "failed", reason: "aborted" });
          };
          const stop = this.link.exchange<ServedAnswer>(
            () => this.#deliver(new URL(url).pathname, headers, bytes),
            (end) => {
              signal.removeEventListener("abort", onAbort);
              if (!clock.isAlive) return;
              if (end.kind !== "answered") resolve({ kind: "failed", reason: end.kind });
              else {
                const { status, headers: answered, body: text } = end.answer;
                resolve({ kind: "answered", status, retryAfter: answered["retry-after"], body: text });
              }
            },
          );
          signal.addEventListener("abort", onAbort, { once: true });
        }),
    };
  }

  async #deliver(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer,
  ): Promise<ServedAnswer | "refused" | "cut"> {
    const { world, history, collector, sourceId, plan } = this.#options;
    const run = collector.runs;
    // The collector may change the bytes of a request, and the network may deliver them twice.
    const answer = await collector.serve({ method: "POST", path, headers, body: new Uint8Array(body) });
    world.note(`batch of ${plan.name}: ${typeof answer === "string" ? answer : answer.status}`);
    if (typeof answer === "string" || answer.status !== 200) return answer;
    const { batch } = JSON.parse(body.toString("utf8")) as { batch: { messageId: string }[] };
    const { rejected = [], duplicates = 0 } = JSON.parse(answer.body) as {
      rejected?: { index: number }[];
      duplicates?: number;
    };
    const refused = new Set(rejected.map(({ index }) => index));
    history.acknowledgements.push({
      sourceId,
      atMs: world.elapsedMs,
      run,
      messageIds: batch.flatMap(({ messageId }, index) => (refused.has(index) ? [] : [messageId])),
      duplicates,
    });
    return answer;
  }
}
