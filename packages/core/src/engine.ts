import { LIMITS, type MessageKind } from "@sluice/protocol";
import { contained } from "./errors.js";
import { type Accepted, accept, givenId } from "./message/accept.js";
import type { Batch, HeldMessage } from "./message/batch.js";
import { hooksOf, type RunHooks } from "./message/before-send.js";
import {
  type CallContext,
  type ContextStorage,
  callTime,
  merged,
  nestedContext,
} from "./message/call-context.js";
import { hooked, hookingWithin } from "./message/hooking.js";
import type { MessageDefaults } from "./message/normalize.js";
import type { ResolvedOptions } from "./options/resolve-options.js";
import type { Platform } from "./platform.js";
import { Batcher } from "./queue/batcher.js";
import { fullQueueText, type QueueBound, type QueueLimits } from "./queue/queue-limits.js";
import { RequestFlush, waitUntilOf } from "./queue/request-flush.js";
import {
  lossLine,
  requestLine,
  warnOfFailedAttempts,
  warnOfUnsent,
  warnOfWrongKey,
} from "./reporting/operator-lines.js";
import { Reporter } from "./reporting/reporter.js";
import type {
  AnalyticsEvents,
  FlushResult,
  Receipt,
  Refusal,
  Stats,
  WithheldReason,
} from "./reporting/reports.js";
import { enrichingSender } from "./sending/enriching-sender.js";
import { httpSender } from "./sending/http-sender.js";
import type { FinalOutcome } from "./sending/outcome.js";
import { type DeadlineCode, DeadlineReached, Pauses } from "./sending/pauses.js";
import { retryingSender } from "./sending/retrying-sender.js";
import type { Kept, Spool } from "./sending/sender.js";
import { splittingSender } from "./sending/sender.js";
import { SpoolingSender } from "./sending/spooling-sender.js";
import type { Transport } from "./transport.js";
import { closeTransport, stubTransport } from "./transport.js";

/** The engine of a runtime's client. None of its calls throws or rejects. */
export interface Engine {
  /**
   * Resolves while the queue has room for a message of any size, at once or when there is room again. Resolves when the client is closed or
   * disabled.
   */
  ready(): Promise<void>;
  /** Queues a message. `input` and `callOptions` (see `CallOptions`) may be anything. */
  take(kind: MessageKind, input: unknown, callOptions?: unknown): Receipt;
  /** Sends everything that is held. Resolves when all of it has ended, or after `timeoutMs`. */
  flush(timeoutMs?: number): Promise<FlushResult>;
  /** Returns the same promise for every call. The deadline of the first call is used. */
  close(timeoutMs: number): Promise<FlushResult>;
  /** Flushes everything that is held, and gives up what is left after `timeoutMs`. The client stays open. */
  flushWithin(timeoutMs: number): Promise<FlushResult>;
  /**
   * Withholds every call from now on, or accepts calls again. Queued messages are sent, unless `discardQueued` is true: then they are given
   * up, in memory and in the spool.
   */
  setEnabled(isEnabled: boolean, discardQueued?: boolean): void;
  /** Runs `work`. Calls within it, also after an `await`, get the ids and the context. */
  withContext<Result>(context: CallContext, work: () => Result): Result;
  stats(): Stats;
  on<Name extends keyof AnalyticsEvents>(
    name: Name,
    listener: (event: AnalyticsEvents[Name]) => unknown,
  ): () => void;
  /** Messages held, in flight included. */
  readonly held: number;
  /**
   * Call it when the process ends as soon as it returns. Passes everything that is held to `keep`, oldest first, reports what is not kept
   * as lost, and refuses later calls.
   */
  endNow(keep?: (batch: Batch) => Kept): void;
}

/** Builds the pipeline and connects its parts. */
export function createEngine(options: ResolvedOptions, given: Platform, spool?: Spool): Engine {
  const platform: Platform = options.quiet ? { ...given, warn: () => {} } : given;
  const { clock } = platform;
  const transport = options.stub
    ? stubTransport
    : (options.transport ?? platform.defaultTransport(options.maxInFlight, platform.warn));
  const reporter = new Reporter(options.onError, platform);
  const pauses = new Pauses(clock);
  const direct = directSender(options, platform, transport, reporter, pauses);
  const spooling =
    spool &&
    new SpoolingSender(direct, {
      spool,
      clock,
      onSent: (report) => reporter.outcome(report),
      onDamaged: (kept) => reporter.damaged(kept),
    });
  const limits = { messages: options.maxQueueMessages, bytes: options.maxQueueBytes };
  const batcher = new Batcher({
    policy: options.flushPolicy,
    batch: { messages: options.batchMessages, bytes: LIMITS.batchBytes },
    limits,
    maxInFlight: options.maxInFlight,
    sender: enrichingSender(spooling ?? direct),
    clock,
    defer: platform.defer,
    hold: platform.hold,
    onOutcome: (report) => reporter.outcome(report),
    countsSpooled: spool !== undefined,
    isInRequest: platform.isInRequest,
    onUnsent: warnOfUnsent(platform.warn),
  });
  const { library } = platform;
  const defaults = { library, context: options.context, integrations: options.integrations };
  if (!options.disable) spooling?.start();
  return new PipelineEngine({
    options,
    platform,
    defaults,
    runHooks: hooksOf(options.beforeSend),
    reporter,
    limits,
    batcher,
    pauses,
    transport,
    spool,
    spooling,
  });
}

/** Sends without a spool: splitting ▷ retrying ▷ HTTP. */
function directSender(
  options: ResolvedOptions,
  platform: Platform,
  transport: Transport,
  reporter: Reporter,
  pauses: Pauses,
): ReturnType<typeof splittingSender> {
  const { clock } = platform;
  const warnOfKey = warnOfWrongKey(platform.warn);
  const warnOfFailures = warnOfFailedAttempts(options.batchUrl, platform.warn);
  const http = httpSender({
    url: options.batchUrl,
    writeKey: options.writeKey,
    userAgent: platform.userAgent,
    timeoutMs: options.requestTimeoutMs,
    transport,
    clock,
    gzip: options.gzip && !options.stub ? platform.gzip : undefined,
    instrument: options.instrument,
    onRequest: (report) => {
      warnOfKey(report);
      warnOfFailures(report);
      platform.debug?.(requestLine(options.batchUrl, report));
      reporter.request(report);
    },
  });
  const policy = { maxRetries: options.maxRetries, maxTotalMs: options.maxTotalRetryMs };
  return splittingSender(retryingSender(http, { policy, pauses, clock }));
}

interface EngineParts {
  readonly options: ResolvedOptions;
  readonly platform: Platform;
  readonly defaults: MessageDefaults;
  readonly runHooks: RunHooks | undefined;
  readonly reporter: Reporter;
  readonly limits: QueueLimits;
  readonly batcher: Batcher;
  readonly pauses: Pauses;
  readonly transport: Transport;
  readonly spool: Spool | undefined;
  readonly spooling: SpoolingSender | undefined;
}

/**
 * Open: calls are accepted. Left by `close()`, to closing, or by `endNow()`, to ended.
 * Closing: every call is refused, and held messages are sent until the deadline. Never left, except by `endNow()`: `result` is also the
 *   answer of every later `close()`.
 * Ended: the process ends as soon as `endNow()` returns. Every call is refused and nothing is held any more.
 */
type State =
  | { readonly kind: "open" }
  | { readonly kind: "closing"; readonly result: Promise<FlushResult> }
  | { readonly kind: "ended"; readonly result?: Promise<FlushResult> };

/** Its methods can be passed on without their object. */
class PipelineEngine implements Engine {
  readonly #parts: EngineParts;
  /** The time of a call, ISO 8601. */
  readonly #callTime: () => string;
  /** Made once, because a loop may have thousands of calls refused. */
  readonly #fullTexts: Readonly<Record<QueueBound, string>>;
  readonly #requestFlush: RequestFlush;
  #state: State = { kind: "open" };
  #isEnabled: boolean;
  /** Whether calls were withheld at any time: then `stats()` counts them. */
  #wasDisabled: boolean;
  /** Made by the first `withContext`, so that clients without one pay nothing. */
  #contexts: ContextStorage | undefined;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { limits } = parts;
    this.#fullTexts = {
      maxQueueSize: fullQueueText("maxQueueSize", limits),
      maxQueueBytes: fullQueueText("maxQueueBytes", limits),
    };
    this.#requestFlush = new RequestFlush((timeoutMs) => this.flush(timeoutMs), parts.platform.warn);
    this.#isEnabled = !parts.options.disable;
    this.#wasDisabled = parts.options.disable;
    this.#callTime = callTime(parts.platform.clock);
  }

  get held(): number {
    return this.#parts.batcher.held;
  }

  readonly take = (kind: MessageKind, input: unknown, callOptions?: unknown): Receipt => {
    const { platform, batcher, runHooks } = this.#parts;
    const away = this.#turnAway(input);
    if (away) return away;
    const bound = batcher.admit();
    if (bound !== undefined) return this.#refuseUnread(input, this.#queueFull(bound, callOptions));
    const stamp = { messageId: platform.newMessageId(), calledAt: this.#callTime() };
    const message = accept(kind, input, stamp, this.#defaults(), runHooks);
    const { messageId } = message;
    if (message.kind === "dropped") return this.#withhold("dropped", messageId);
    if (message.kind === "refused") return this.#refuse(message, messageId, message.json);
    // A `beforeSend` function, or a getter of the argument, may have closed or disabled the client.
    const awayNow = this.#turnAway(message);
    if (awayNow) return awayNow;
    const held = this.#held(message);
    const exceeded = batcher.offer(held);
    if (exceeded !== undefined)
      return this.#refuse(this.#queueFull(exceeded, callOptions), messageId, held.json || undefined);
    platform.debug?.(`${kind} ${messageId} queued, ${batcher.held} held`);
    this.#keepRequest(callOptions);
    return { accepted: true, messageId };
  };

  readonly ready = (): Promise<void> =>
    this.#state.kind === "open" && this.#isEnabled ? this.#parts.batcher.ready() : Promise.resolve();

  readonly flush = (timeoutMs?: number): Promise<FlushResult> => {
    const { batcher } = this.#parts;
    const flushed = batcher.flush(isDuration(timeoutMs) ? timeoutMs : undefined);
    return batcher.held > 0 ? this.#holdProcess(flushed) : flushed;
  };

  readonly flushWithin = (timeoutMs: number): Promise<FlushResult> =>
    this.#flushUntil(timeoutMs, "exit_deadline");

  readonly close = (timeoutMs: number): Promise<FlushResult> => {
    if (this.#state.kind !== "open" && this.#state.result !== undefined) return this.#state.result;
    const result = this.#closeWithin(timeoutMs);
    this.#setState({ kind: this.#state.kind === "open" ? "closing" : "ended", result });
    return result;
  };

  readonly setEnabled = (isEnabled: boolean, discardQueued = false): void => {
    const { batcher, spooling, platform } = this.#parts;
    platform.debug?.(isEnabled ? "enabled" : "disabled");
    this.#isEnabled = isEnabled;
    this.#wasDisabled ||= !isEnabled;
    if (this.#state.kind === "ended") return;
    if (isEnabled) {
      if (this.#state.kind === "open") spooling?.start();
      return;
    }
    if (discardQueued) {
      batcher.abandonAll("discarded");
      spooling?.discard();
    }
    // Calls are withheld, so they need no room.
    batcher.wakeAll();
  };

  readonly withContext = <Result>(context: CallContext, work: () => Result): Result => {
    // Without a function there is nothing to run.
    if (typeof work !== "function") return undefined as Result;
    this.#contexts ??= this.#parts.platform.newContextStorage(this.#parts.platform.warn);
    return this.#contexts.run(nestedContext(this.#contexts.get(), context), work);
  };

  readonly stats = (): Stats => {
    const { reporter, batcher, spool, runHooks } = this.#parts;
    const { dropped, disabled } = reporter.withheld;
    const hasEnded = this.#state.kind === "ended";
    return {
      ...reporter.counts,
      queued: hasEnded ? 0 : batcher.load.messages,
      queuedBytes: hasEnded ? 0 : batcher.load.bytes,
      peakQueued: batcher.peak.messages,
      peakQueuedBytes: batcher.peak.bytes,
      ...(spool && { spooled: spool.messages }),
      ...(runHooks && { dropped }),
      ...(this.#wasDisabled && { disabled }),
    };
  };

  readonly on: Engine["on"] = (name, listener) => this.#parts.reporter.on(name, listener);

  readonly endNow = (keep?: (batch: Batch) => Kept): void => {
    const { batcher, reporter } = this.#parts;
    if (this.#state.kind === "ended") return;
    this.#setState({ ...this.#state, kind: "ended" });
    for (const batch of batcher.snapshot()) {
      const isDiscarded = batcher.isDiscarded(batch);
      const abandoned = { kind: "abandoned", deadline: isDiscarded ? "discarded" : "exit_deadline" } as const;
      const unready = batch.filter((message) => hooked(message) === undefined);
      if (unready.length > 0) reporter.outcome({ batch: unready, outcome: abandoned });
      const ready = batch.flatMap((message) => hooked(message) ?? []);
      if (ready.length === 0) continue;
      const kept = isDiscarded ? undefined : (contained(keep, ready) as Kept | undefined);
      if (kept === "kept") continue;
      const outcome: FinalOutcome = kept ? { kind: "spool_failed", reason: kept.reason } : abandoned;
      reporter.outcome({ batch: ready, outcome });
    }
    this.#warnOfLosses();
  };

  #setState(state: State): void {
    this.#state = state;
    if (state.kind !== "open") this.#parts.batcher.wakeAll();
  }

  #held(message: Extract<Accepted, { kind: "ready" | "hooking" }>): Omit<HeldMessage, "sequence"> {
    const { messageId, bytes } = message;
    if (message.kind === "ready") return { messageId, json: message.json, bytes };
    const { options, platform } = this.#parts;
    const hooking = hookingWithin(message.done, messageId, options.beforeSendTimeoutMs, platform.clock);
    return { messageId, json: "", bytes, hooking };
  }

  /** The answer to every call of a client that is closed or disabled. */
  #turnAway(input: unknown): Receipt | undefined {
    if (this.#state.kind !== "open")
      return this.#refuseUnread(input, { reason: "closed", text: "The client is closed" });
    if (this.#isEnabled) return undefined;
    return this.#withhold("disabled", givenId(input) ?? this.#parts.platform.newMessageId());
  }

  /** Flushes in this turn, and keeps the incoming request alive meanwhile, if the call or the client has a `waitUntil`. */
  #keepRequest(callOptions: unknown): void {
    const waitUntil = waitUntilOf(callOptions) ?? this.#parts.options.waitUntil;
    if (waitUntil) this.#requestFlush.keep(waitUntil);
  }

  /** The defaults of a call's message: those of the client, or of the `withContext` around it. */
  #defaults(): MessageDefaults {
    const { defaults } = this.#parts;
    const ids = this.#contexts?.get();
    return ids ? { ...defaults, context: merged(defaults.context, ids.context), ids } : defaults;
  }

  #withhold(reason: WithheldReason, messageId: string): Receipt {
    const { platform, reporter } = this.#parts;
    platform.debug?.(`${reason} ${messageId}`);
    reporter.withhold(reason);
    return { accepted: false, messageId, reason };
  }

  /** Prints what was lost, once, if nobody was told. */
  #warnOfLosses(): void {
    const { options, platform, reporter } = this.#parts;
    const unheard = reporter.takeUnheard();
    if (unheard) platform.warn(lossLine(options.batchUrl, unheard));
  }

  #queueFull(bound: QueueBound, callOptions: unknown): Refusal {
    // Where only a flush sends, nothing else would make room.
    this.#keepRequest(callOptions);
    return { reason: "queue_full", bound, text: this.#fullTexts[bound] };
  }

  /** Refuses a call whose message is not read, except for its id. */
  #refuseUnread(input: unknown, refusal: Refusal): Receipt {
    return this.#refuse(refusal, givenId(input) ?? this.#parts.platform.newMessageId());
  }

  #refuse(refusal: Refusal, messageId: string, json?: string): Receipt {
    const { platform, reporter } = this.#parts;
    const { reason } = refusal;
    platform.debug?.(`refused ${messageId}: ${reason}`);
    reporter.refusal(refusal, { messageId, json });
    return reason === "queue_full"
      ? { accepted: false, messageId, reason, bound: refusal.bound }
      : { accepted: false, messageId, reason };
  }

  /** Flushes, and ends backoffs early so that failed batches get another attempt before the deadline. */
  #flushUntil(timeoutMs: number, deadline: DeadlineCode): Promise<FlushResult> {
    const { platform, batcher, pauses } = this.#parts;
    const cancel = platform.clock.after(limitOf(timeoutMs), () => batcher.abandonAll(deadline));
    const flushed = batcher.flush();
    pauses.cutShort();
    return this.#holdProcess(flushed.finally(cancel));
  }

  async #closeWithin(timeoutMs: number): Promise<FlushResult> {
    const { platform, transport, spooling } = this.#parts;
    const deadline = new AbortController();
    const cancel = platform.clock.after(limitOf(timeoutMs), () =>
      deadline.abort(new DeadlineReached("close_deadline")),
    );
    const result = await this.#flushUntil(timeoutMs, "close_deadline");
    if (spooling) await this.#holdProcess(spooling.finish(deadline.signal));
    cancel();
    this.#warnOfLosses();
    await closeTransport(transport, platform.clock);
    // The last word of the client, so it has the calls too that were never queued.
    return { ...result, refused: this.stats().refused };
  }

  /** Keeps the process alive until `work` has ended. */
  async #holdProcess<Result>(work: Promise<Result>): Promise<Result> {
    const release = this.#parts.platform.hold();
    try {
      return await work;
    } finally {
      release();
    }
  }
}

function isDuration(ms: unknown): ms is number {
  return typeof ms === "number" && ms >= 0;
}

/** A deadline that is no duration is none. */
function limitOf(timeoutMs: number): number {
  return isDuration(timeoutMs) ? timeoutMs : Number.POSITIVE_INFINITY;
}
