import { LIMITS, type MessageKind } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { contained } from "./errors/contained.js";
import { accept, givenId } from "./message/accept.js";
import type { Batch } from "./message/batch.js";
import { callTime } from "./message/call-time.js";
import type { ResolvedOptions } from "./options/options.js";
import type { Platform } from "./platform.js";
import { Batcher } from "./queue/batcher.js";
import { requestLine, warnOfWrongKey } from "./reporting/operator-lines.js";
import { Reporter } from "./reporting/reporter.js";
import type { AnalyticsEvents, FlushResult, Receipt, RefusalReason, Stats } from "./reporting/reports.js";
import { attemptWith } from "./sending/http-sender.js";
import { Pauses } from "./sending/pauses.js";
import { retrying } from "./sending/retrying-sender.js";
import { type DeadlineCode, DeadlineReached, type FinalOutcome, type SendReport } from "./sending/sender.js";
import { splittingSender } from "./sending/splitting-sender.js";
import type { Kept, Spool, SpooledBatch } from "./sending/spool.js";
import { spoolingSender } from "./sending/spooling-sender.js";
import { stubTransport } from "./transport/stub-transport.js";
import type { Transport } from "./transport/transport.js";

/** What a runtime's client is built on. None of its calls throws or rejects. */
export interface Engine {
  /** Takes a message, whatever `input` is. */
  take(kind: MessageKind, input: unknown): Receipt;
  flush(): Promise<FlushResult>;
  /** The same promise for every call; the first call's deadline holds. */
  close(timeoutMs: number): Promise<FlushResult>;
  /** Flushes what is held; after `timeoutMs` the rest is given up. The client stays open. */
  flushWithin(timeoutMs: number): Promise<FlushResult>;
  stats(): Stats;
  on<Name extends keyof AnalyticsEvents>(
    name: Name,
    listener: (event: AnalyticsEvents[Name]) => unknown,
  ): () => void;
  /** Messages held, in flight included. */
  readonly held: number;
  /**
   * The process is gone once this returns: what is held goes to `keep`, oldest first; what is not kept is told as lost, and
   * later calls are refused.
   */
  endNow(keep?: (batch: Batch) => Kept): void;
}

/** Builds the pipeline and connects its stages. */
export function createEngine(options: ResolvedOptions, platform: Platform, spool?: Spool): Engine {
  const { clock } = platform;
  const transport = options.stub
    ? stubTransport
    : (options.transport ?? platform.defaultTransport(options.maxInFlight));
  const pauses = new Pauses(clock);
  const reporter = new Reporter(options.onError, platform.defer);
  const warnOnce = warnOfWrongKey(platform.warn);
  const attempt = attemptWith({
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
  const onSettled = (report: SendReport): void => reporter.settled(report);
  const direct = splittingSender(retrying(attempt, policy, pauses, clock));
  const onDamaged = (kept: SpooledBatch): void => reporter.damaged(kept);
  const spooling = spool && spoolingSender({ inner: direct, spool, clock, onSettled, onDamaged });
  const batcher = new Batcher({
    policy: options.flushPolicy,
    batch: { messages: options.batchMessages, bytes: LIMITS.batchBytes },
    maxMessages: options.maxQueueMessages,
    maxBytes: options.maxQueueBytes,
    maxInFlight: options.maxInFlight,
    sender: spooling ?? direct,
    clock,
    defer: platform.defer,
    onSettled,
    countsSpooled: spool !== undefined,
  });
  const defaults = { context: options.context, integrations: options.integrations };
  const now = callTime(clock);
  let closing: Promise<FlushResult> | undefined;
  let hasEnded = false;

  const refuse = (reason: RefusalReason, text: string, messageId: string, json?: string): Receipt => {
    platform.debug?.(`refused ${messageId}: ${reason}`);
    reporter.refusal(reason, text, { messageId, json });
    return { accepted: false, messageId, reason };
  };

  const holding = async <T>(work: Promise<T>): Promise<T> => {
    const release = platform.hold();
    try {
      return await work;
    } finally {
      release();
    }
  };

  const flushWithin = (timeoutMs: number, deadline: DeadlineCode): Promise<FlushResult> => {
    const cancel = clock.after(timeoutMs, () => batcher.abandonAll(deadline));
    const flushed = batcher.flush();
    pauses.cutShort();
    return holding(flushed.finally(cancel));
  };

  const closeWithin = async (timeoutMs: number): Promise<FlushResult> => {
    const deadline = new AbortController();
    const cancel = clock.after(timeoutMs, () => deadline.abort(new DeadlineReached("close_deadline")));
    const result = await flushWithin(timeoutMs, "close_deadline");
    if (spooling) await holding(spooling.finish(deadline.signal));
    cancel();
    await released(transport, clock);
    return result;
  };

  spooling?.start();
  return {
    take(kind, input) {
      if (closing || hasEnded)
        return refuse("closed", "The client is closed", givenId(input) ?? platform.newMessageId());
      if (batcher.isFull) {
        batcher.makeRoom();
        return refuse("queue_full", "The queue is full", givenId(input) ?? platform.newMessageId());
      }
      const message = accept(kind, input, { messageId: platform.newMessageId(), calledAt: now() }, defaults);
      const { messageId } = message;
      if (message.kind === "refused") return refuse(message.reason, message.text, messageId, message.json);
      if (!batcher.offer(messageId, message.json, message.bytes)) {
        return refuse("queue_full", "The queue is full", messageId, message.json);
      }
      platform.debug?.(`${kind} ${messageId} queued, ${batcher.held} held`);
      return { accepted: true, messageId };
    },
    flush: () => {
      const flushed = batcher.flush();
      return batcher.held > 0 ? holding(flushed) : flushed;
    },
    flushWithin: (timeoutMs) => flushWithin(timeoutMs, "exit_deadline"),
    close: (timeoutMs) => {
      closing ??= closeWithin(timeoutMs);
      return closing;
    },
    stats: () => ({
      ...reporter.counts,
      queued: hasEnded ? 0 : batcher.held,
      ...(spool && { spooled: spool.messages }),
    }),
    on: (name, listener) => reporter.on(name, listener),
    get held() {
      return batcher.held;
    },
    endNow: (keep) => {
      if (hasEnded) return;
      hasEnded = true;
      for (const batch of batcher.snapshot()) {
        const kept = keep?.(batch);
        if (kept === "kept") continue;
        const outcome: FinalOutcome = kept
          ? { kind: "spool_failed", reason: kept.reason }
          : { kind: "abandoned", deadline: "exit_deadline" };
        onSettled({ batch, outcome });
      }
    },
  };
}

/** A transport of the caller's own making may take as long as it likes to close: `close()` does not. */
const RELEASE_MS = 1_000;

async function released(transport: Transport, clock: Clock): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancel = clock.after(RELEASE_MS, resolve);
    const done = (): void => {
      cancel();
      resolve();
    };
    Promise.resolve(contained(() => transport.close?.())).then(done, done);
  });
}
