import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { Clock } from "@sluice/resilience";
import { type PortClient, portClient } from "@sluice/resilience/node";
import type { Companion } from "../delivery/workers/thread-api.js";
import {
  type AmountsByAddress,
  amountsOfProcess,
  forgetAmounts,
  sharedAmounts,
} from "../http/body/amounts-by-address.js";
import type { TrustedProxies } from "../http/connection/forwarded.js";
import { type HttpMetricsOfProcess, NO_HTTP_COUNTS } from "../http/http-metrics.js";
import type { Route } from "../http/routing.js";
import type { PlanRefusal } from "../ingest/admit-request.js";
import type { WrongKeys } from "../ingest/ingest-metrics.js";
import { type IngestMetricsOfProcess, NO_INGEST_COUNTS } from "../ingest/ingest-metrics.js";
import { type Buckets, bucketsOfProcess, sharedBuckets } from "../ingest/sources/rate-limit.js";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import type { Metrics } from "../process/telemetry/metrics.js";
import type { Tracing } from "../process/telemetry/tracing.js";
import { answerPassedOn } from "./answer-passed-on.js";
import type {
  IngestNotice,
  IngestThreadApi,
  IngestThreadData,
  IngestThreadOptions,
  SharedState,
  ThreadCounts,
} from "./ingest-thread.js";

export interface IngestThreadsParts {
  /** How many threads take requests. */
  readonly count: number;
  readonly options: IngestThreadOptions;
  readonly trustedProxies: TrustedProxies;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly live: LiveEvents;
  readonly wrongKeys: WrongKeys;
  readonly tracing: Tracing | undefined;
}

/** What takes what the threads counted, and answers what they do not. */
export interface IngestThreadsUse {
  readonly routes: readonly Route[];
  readonly httpMetrics: HttpMetricsOfProcess;
  readonly ingestMetrics: IngestMetricsOfProcess;
  readonly onPlanRefusal: (refused: PlanRefusal) => void;
}

/** A thread that is connected. */
export interface IngestThread {
  readonly place: number;
  readonly client: PortClient<IngestThreadApi>;
  isReady: boolean;
}

/** How long a thread is waited for that only says what it counted, in milliseconds. */
const ANSWER_MS = 1_000;

/** The main thread's part of ingestion in threads. */
export class IngestThreads implements Companion {
  readonly #parts: IngestThreadsParts;
  readonly #shared: SharedState;
  /** By place. */
  readonly #threads = new Map<number, IngestThread>();
  readonly #stopWatching: () => void;
  #use: IngestThreadsUse | undefined;
  #changed: (thread: IngestThread) => void = () => {};
  #collecting: Promise<void> | undefined;

  constructor(parts: IngestThreadsParts) {
    this.#parts = parts;
    const all = parts.count + 1;
    this.#shared = {
      buffered: sharedAmounts(all),
      keyless: sharedAmounts(all),
      inTurn: sharedAmounts(all),
      buckets: sharedBuckets(),
    };
    this.#stopWatching = parts.live.onWatched((isWatched) => {
      for (const { client } of this.#threads.values()) client.call("watch", [isWatched]).catch(() => {});
    });
    parts.metrics.beforeReading(() => this.#collect());
  }

  /** What the main thread counts in too. */
  get held(): { readonly all: AmountsByAddress; readonly keyless: AmountsByAddress } {
    const { buffered, keyless } = this.#shared;
    return { all: amountsOfProcess(buffered, 0), keyless: amountsOfProcess(keyless, 0) };
  }

  get inTurn(): AmountsByAddress {
    return amountsOfProcess(this.#shared.inTurn, 0);
  }

  get buckets(): Buckets {
    return bucketsOfProcess(this.#shared.buckets);
  }

  get count(): number {
    return this.#parts.count;
  }

  get ready(): readonly IngestThread[] {
    return [...this.#threads.values()].filter(({ isReady }) => isReady);
  }

  has(thread: IngestThread): boolean {
    return this.#threads.get(thread.place) === thread;
  }

  /** `changed`: a thread has become ready, or has ended. */
  use(use: IngestThreadsUse, changed: (thread: IngestThread) => void): void {
    this.#use = use;
    this.#changed = changed;
  }

  connect(place: number): ReturnType<Companion["connect"]> {
    const before = this.#threads.get(place);
    if (before !== undefined) this.#ended(before);
    const calls = new MessageChannel();
    const passedOn = new MessageChannel();
    const { options, live, trustedProxies } = this.#parts;
    const thread: IngestThread = {
      place,
      client: portClient<IngestThreadApi, { message: string }, IngestNotice>(calls.port1, {
        onNotice: (notice) => this.#take(thread, notice),
      }),
      isReady: false,
    };
    calls.port1.on("close", () => this.#ended(thread));
    answerPassedOn(passedOn.port1, () => this.#use?.routes ?? [], trustedProxies);
    this.#threads.set(place, thread);
    const data: IngestThreadData = {
      port: calls.port2,
      passedOn: passedOn.port2,
      shared: this.#shared,
      thread: place + 1,
      isWatched: live.watched,
      options,
    };
    return { data, transfer: [calls.port2, passedOn.port2] satisfies MessagePort[] };
  }

  #take(thread: IngestThread, notice: IngestNotice): void {
    switch (notice.kind) {
      case "ready":
        thread.isReady = true;
        this.#changed(thread);
        return;
      case "counts":
        this.#count(thread, notice.counts);
        return;
      case "live":
        this.#parts.live.publish(notice.event);
        return;
      case "span":
        this.#parts.tracing?.record(notice.span);
        return;
      default:
        notice satisfies never;
    }
  }

  #count({ place }: IngestThread, { http, ingest, wrongKeys, planRefusals }: ThreadCounts): void {
    this.#use?.httpMetrics.take(place, http);
    this.#use?.ingestMetrics.take(place, ingest);
    for (const request of wrongKeys) this.#parts.wrongKeys.add(request);
    for (const refusal of planRefusals) this.#use?.onPlanRefusal(refusal);
  }

  #ended(thread: IngestThread): void {
    if (!this.has(thread)) return;
    this.#threads.delete(thread.place);
    for (const amounts of [this.#shared.buffered, this.#shared.keyless, this.#shared.inTurn])
      forgetAmounts(amounts, thread.place + 1);
    this.#use?.httpMetrics.take(thread.place, NO_HTTP_COUNTS);
    this.#use?.ingestMetrics.take(thread.place, NO_INGEST_COUNTS);
    this.#changed(thread);
  }

  /** What all threads have counted up to now. Several readers share one round. */
  #collect(): Promise<void> {
    this.#collecting ??= this.#collectNow().finally(() => {
      this.#collecting = undefined;
    });
    return this.#collecting;
  }

  async #collectNow(): Promise<void> {
    const late = Promise.withResolvers<undefined>();
    const cancel = this.#parts.clock.after(ANSWER_MS, () => late.resolve(undefined));
    await Promise.all(
      this.ready.map(async (thread) => {
        const asked = thread.client.call("counts", []).then((counts) => this.#count(thread, counts));
        await Promise.race([asked.catch(() => {}), late.promise]);
      }),
    );
    cancel();
  }

  close(): void {
    this.#stopWatching();
  }
}
