import { LIMITS, type MessageKind } from "@sluice/protocol";
import { accept, givenId, type RefusalReason } from "./message/accept.js";
import type { Batch } from "./message/batch.js";
import { callTime } from "./message/call-time.js";
import type { MessageDefaults } from "./message/normalize.js";
import type { ResolvedOptions } from "./options/resolve-options.js";
import type { Platform } from "./platform.js";
import { Batcher } from "./queue/batcher.js";
import { requestLine, warnOfWrongKey } from "./reporting/operator-lines.js";
import { Reporter } from "./reporting/reporter.js";
import type { AnalyticsEvents, FlushResult, Receipt, Stats } from "./reporting/reports.js";
import { type DeadlineCode, DeadlineReached } from "./sending/deadline.js";
import { httpSender } from "./sending/http-sender.js";
import type { FinalOutcome } from "./sending/outcome.js";
import { Pauses } from "./sending/pauses.js";
import { retryingSender } from "./sending/retrying-sender.js";
import { splittingSender } from "./sending/splitting-sender.js";
import type { Kept, Spool } from "./sending/spool.js";
import { SpoolingSender } from "./sending/spooling-sender.js";
import { closeTransport } from "./transport/close-transport.js";
import { stubTransport } from "./transport/stub-transport.js";
import type { Transport } from "./transport/transport.js";

/** The engine of a runtime's client. None of its calls throws or rejects. */
export interface Engine {
  /** Queues a message. `input` may be anything. */
  take(kind: MessageKind, input: unknown): Receipt;
  flush(): Promise<FlushResult>;
  /** Returns the same promise for every call. The deadline of the first call is used. */
  close(timeoutMs: number): Promise<FlushResult>;
  /** Flushes everything that is held, and gives up what is left after `timeoutMs`. The client stays open. */
  flushWithin(timeoutMs: number): Promise<FlushResult>;
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
export function createEngine(options: ResolvedOptions, platform: Platform, spool?: Spool): Engine {
  const { clock } = platform;
  const transport = options.stub
    ? stubTransport
    : (options.transport ?? platform.defaultTransport(options.maxInFlight));
  const reporter = new Reporter(options.onError, platform.defer);
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
  const batcher = new Batcher({
    policy: options.flushPolicy,
    batch: { messages: options.batchMessages, bytes: LIMITS.batchBytes },
    maxMessages: options.maxQueueMessages,
    maxBytes: options.maxQueueBytes,
    maxInFlight: options.maxInFlight,
    sender: spooling ?? direct,
    clock,
    defer: platform.defer,
    onOutcome: (report) => reporter.outcome(report),
    countsSpooled: spool !== undefined,
  });
  const defaults = { context: options.context, integrations: options.integrations };
  spooling?.start();
  return new PipelineEngine({ platform, defaults, reporter, batcher, pauses, transport, spool, spooling });
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
  const warnOnce = warnOfWrongKey(platform.warn);
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
      warnOnce(report);
      platform.debug?.(requestLine(options.batchUrl, report));
      reporter.request(report);
    },
  });
  const policy = { maxRetries: options.maxRetries, maxTotalMs: options.maxTotalRetryMs };
  return splittingSender(retryingSender(http, { policy, pauses, clock }));
}

interface EngineParts {
  readonly platform: Platform;
  readonly defaults: MessageDefaults;
  readonly reporter: Reporter;
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
  #state: State = { kind: "open" };

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#callTime = callTime(parts.platform.clock);
  }

  get held(): number {
    return this.#parts.batcher.held;
  }

  readonly take = (kind: MessageKind, input: unknown): Receipt => {
    const { platform, defaults, batcher } = this.#parts;
    if (this.#state.kind !== "open")
      return this.#refuse("closed", "The client is closed", givenId(input) ?? platform.newMessageId());
    if (batcher.isFull) {
      batcher.makeRoom();
      return this.#refuse("queue_full", "The queue is full", givenId(input) ?? platform.newMessageId());
    }
    const stamp = { messageId: platform.newMessageId(), calledAt: this.#callTime() };
    const message = accept(kind, input, stamp, defaults);
    const { messageId } = message;
    if (message.kind === "refused")
      return this.#refuse(message.reason, message.text, messageId, message.json);
    if (!batcher.offer(messageId, message.json, message.bytes))
      return this.#refuse("queue_full", "The queue is full", messageId, message.json);
    platform.debug?.(`${kind} ${messageId} queued, ${batcher.held} held`);
    return { accepted: true, messageId };
  };

  readonly flush = (): Promise<FlushResult> => {
    const { batcher } = this.#parts;
    const flushed = batcher.flush();
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

  readonly stats = (): Stats => {
    const { reporter, batcher, spool } = this.#parts;
    return {
      ...reporter.counts,
      queued: this.#state.kind === "ended" ? 0 : batcher.held,
      ...(spool && { spooled: spool.messages }),
    };
  };

  readonly on: Engine["on"] = (name, listener) => this.#parts.reporter.on(name, listener);

  readonly endNow = (keep?: (batch: Batch) => Kept): void => {
    const { batcher, reporter } = this.#parts;
    if (this.#state.kind === "ended") return;
    this.#setState({ ...this.#state, kind: "ended" });
    for (const batch of batcher.snapshot()) {
      const kept = keep?.(batch);
      if (kept === "kept") continue;
      const outcome: FinalOutcome = kept
        ? { kind: "spool_failed", reason: kept.reason }
        : { kind: "abandoned", deadline: "exit_deadline" };
      reporter.outcome({ batch, outcome });
    }
  };

  #setState(state: State): void {
    this.#state = state;
  }

  #refuse(reason: RefusalReason, text: string, messageId: string, json?: string): Receipt {
    const { platform, reporter } = this.#parts;
    platform.debug?.(`refused ${messageId}: ${reason}`);
    reporter.refusal(reason, text, { messageId, json });
    return { accepted: false, messageId, reason };
  }

  /** Flushes, and ends backoffs early so that failed batches get another attempt before the deadline. */
  #flushUntil(timeoutMs: number, deadline: DeadlineCode): Promise<FlushResult> {
    const { platform, batcher, pauses } = this.#parts;
    const cancel = platform.clock.after(timeoutMs, () => batcher.abandonAll(deadline));
    const flushed = batcher.flush();
    pauses.cutShort();
    return this.#holdProcess(flushed.finally(cancel));
  }

  async #closeWithin(timeoutMs: number): Promise<FlushResult> {
    const { platform, transport, spooling } = this.#parts;
    const deadline = new AbortController();
    const cancel = platform.clock.after(timeoutMs, () =>
      deadline.abort(new DeadlineReached("close_deadline")),
    );
    const result = await this.#flushUntil(timeoutMs, "close_deadline");
    if (spooling) await this.#holdProcess(spooling.finish(deadline.signal));
    cancel();
    await closeTransport(transport, platform.clock);
    return result;
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
