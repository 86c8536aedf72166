import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Batch,
  type CallContext,
  createEngine,
  type Engine,
  type FlushResult,
  type Platform,
  resolveOptions,
  type Spool,
  type Transport,
  type TransportOutcome,
} from "@sluice/core";
import type { SyncSpool } from "../../../packages/node/src/spool/spool-directory.js";
import type { Link } from "../world/link.js";
import type { ProcessClock } from "../world/machine.js";
import type { World } from "../world/world.js";
import type { History, HookFate, SdkWait } from "./history.js";
import type { ServedAnswer } from "./memory-server.js";
import type { SdkPlan } from "./sdk-actor.js";

/** What an application passes to the SDK. */
export type CallFields = Readonly<Record<string, unknown>>;
export type CallKind = "track" | "identify" | "alias";

export interface SdkRunParts {
  readonly world: World;
  readonly history: History;
  readonly plan: SdkPlan;
  readonly writeKey: string;
  readonly run: number;
  readonly clock: ProcessClock;
  readonly link: Link;
  readonly spool: SyncSpool | undefined;
  readonly newMessageId: () => string;
  /** What serves the requests. */
  readonly deliver: (
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer,
  ) => Promise<ServedAnswer | "refused" | "cut">;
}

/** How long the functions of `beforeSend` take. The SDK allows five seconds. */
const HOOK_MS = [0, 50, 2_000, 4_900, 5_100, 60_000];
const HOOK_LIMIT_MS = 5_000;

/** One process of an application, with the real engine of the SDK. */
export class SdkRun {
  readonly engine: Engine;
  readonly clock: ProcessClock;
  readonly #parts: SdkRunParts;
  readonly #random;
  /** Messages that it accepted, and neither reported nor kept on disk yet. */
  readonly #held = new Set<string>();
  /** Messages that this process kept on disk, and did not report. */
  readonly #onDisk = new Set<string>();
  #mostHeld = 0;
  /** What has a timer of its own: calls with a time limit, and functions of `beforeSend`. */
  #waiting = 0;
  #mostWaiting = 0;
  #isDisabled = false;

  constructor(parts: SdkRunParts) {
    this.#parts = parts;
    this.clock = parts.clock;
    this.#random = parts.world.random.fork(`calls of ${parts.plan.name} ${parts.run}`);
    const { spool } = parts;
    this.engine = createEngine(this.#options(), this.#platform(), spool && this.#noted(spool));
    this.#listen();
  }

  take(kind: CallKind, fields: unknown): void {
    const { world, history, plan, run } = this.#parts;
    const receipt = this.engine.take(kind, fields);
    const { accepted, messageId } = receipt;
    const fate = history.hooks.get(messageId);
    if (accepted && fate !== "drops") this.#held.add(messageId);
    this.#mostHeld = Math.max(this.#mostHeld, this.#held.size);
    if (typeof fields === "object" && fields !== null) history.fields.set(messageId, fields as CallFields);
    history.calls.push({
      sdk: plan.name,
      run,
      messageId,
      accepted,
      atMs: world.elapsedMs,
      ...(receipt.accepted ? {} : { reason: receipt.reason }),
    });
  }

  flush(timeoutMs: number | undefined): void {
    this.#wait("flush", timeoutMs, this.engine.flush(timeoutMs));
  }

  ready(): void {
    this.#wait("ready", undefined, this.engine.ready());
  }

  setEnabled(isEnabled: boolean, discards: boolean): void {
    const { history, plan, run, world } = this.#parts;
    this.#isDisabled = !isEnabled;
    if (!isEnabled && discards) {
      const messageIds = new Set([...this.#held, ...this.#onDisk]);
      const calls = history.calls.length;
      history.discards.push({ sdk: plan.name, run, atMs: world.elapsedMs, calls, messageIds });
    }
    this.engine.setEnabled(isEnabled, discards);
  }

  /** Resolves when the process has ended in order, or never if it crashes. */
  async close(timeoutMs: number): Promise<void> {
    const { history, plan, run } = this.#parts;
    const closed = this.engine.close(timeoutMs);
    this.#wait("close", timeoutMs, closed);
    await closed;
    if (!this.clock.isAlive) return;
    this.#notePeak();
    history.closed.set(`${plan.name} ${run}`, this.engine.stats());
    this.clock.stop();
  }

  /** The process ends as soon as this returns, as with `process.exit()`. */
  endNow(): void {
    const { spool } = this.#parts;
    this.engine.endNow(
      spool &&
        ((batch) => {
          const kept = spool.appendNow(batch);
          if (kept === "kept") this.#noteKept(batch);
          return kept;
        }),
    );
    // It may have crashed while it wrote.
    if (!this.clock.isAlive) return;
    const { history, plan, run } = this.#parts;
    history.exited.add(`${plan.name} ${run}`);
    this.crash();
  }

  crash(): void {
    if (!this.clock.isAlive) return;
    this.#notePeak();
    this.clock.stop();
  }

  #notePeak(): void {
    const { plan, history } = this.#parts;
    const { peaks } = history;
    const process = plan.name;
    peaks.push({ process, what: "messages by its own count", most: this.engine.stats().peakQueued });
    // A spool keeps on disk what it reports later.
    if (!plan.spools)
      peaks.push({ process, what: "messages that nothing was reported about", most: this.#mostHeld });
    peaks.push({ process, what: "timers", most: this.clock.peakPending, allowed: this.#mostWaiting });
  }

  #wait(what: SdkWait["what"], timeoutMs: number | undefined, ended: Promise<unknown>): void {
    const { world, history, plan, run } = this.#parts;
    const wait: SdkWait = {
      sdk: plan.name,
      run,
      what,
      timeoutMs,
      calledAtMs: world.elapsedMs,
      held: this.#held.size,
    };
    const held = new Set(this.#held);
    history.waits.push(wait);
    this.#begins();
    void ended.then((result) => {
      if (!this.clock.isAlive) return;
      this.#waiting -= 1;
      wait.endedAtMs = world.elapsedMs;
      wait.heldAtEnd = this.#held.size;
      wait.leftAtEnd = [...held].filter((id) => this.#held.has(id)).length;
      wait.isOff = this.#isDisabled;
      if (what !== "ready") wait.result = result as FlushResult;
    });
  }

  #begins(): void {
    this.#waiting += 1;
    this.#mostWaiting = Math.max(this.#mostWaiting, this.#waiting);
  }

  #listen(): void {
    const { history, plan, run, world } = this.#parts;
    const report = (
      kind: "delivered" | "failed" | "refused",
      messageIds: readonly string[],
      code?: string,
    ): void => {
      if (!this.clock.isAlive) return;
      const atMs = world.elapsedMs;
      for (const messageId of messageIds) {
        this.#held.delete(messageId);
        this.#onDisk.delete(messageId);
        history.reports.push({ sdk: plan.name, run, messageId, kind, atMs, ...(code ? { code } : {}) });
      }
    };
    const ids = (messages: readonly { readonly messageId: string }[]): string[] =>
      messages.map(({ messageId }) => messageId);
    this.engine.on("delivered", ({ messageIds }) => report("delivered", messageIds));
    this.engine.on("failed", ({ detail }) => report("failed", ids(detail.messages), detail.code));
    this.engine.on("refused", ({ detail }) => report("refused", ids(detail.messages), detail.code));
  }

  /** Notes what the spool says it has kept. */
  #noted(spool: SyncSpool): Spool {
    const append = async (batch: Batch) => {
      const kept = await spool.append(batch);
      if (kept === "kept" && this.clock.isAlive) {
        this.#noteKept(batch);
        for (const { messageId } of batch) this.#held.delete(messageId);
      }
      return kept;
    };
    return {
      get messages() {
        return spool.messages;
      },
      append,
      open: () => spool.open(),
      oldest: () => spool.oldest(),
      release: () => spool.release(),
    };
  }

  #noteKept(batch: Batch): void {
    const { history, run, world } = this.#parts;
    for (const { messageId } of batch) {
      history.kept.set(messageId, { run, atMs: world.elapsedMs });
      this.#onDisk.add(messageId);
    }
  }

  #options(): ReturnType<typeof resolveOptions> {
    const { plan, writeKey } = this.#parts;
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
      ...(plan.hooks === "none" ? {} : { beforeSend: (message) => this.#hook(message) }),
    });
  }

  /** A function of the application: keeps a message and marks it, drops it, throws, or takes too long. */
  #hook<Message extends object & { readonly messageId: string }>(message: Message): never {
    const { history, plan, world } = this.#parts;
    const note = (fate: HookFate): void => void history.hooks.set(message.messageId, fate);
    const place = this.#random.next();
    const fate = place < 0.7 ? "keeps" : place < 0.85 ? "drops" : "throws";
    const end = (): Message | null => {
      if (fate === "throws") throw new Error("simulated");
      return fate === "drops" ? null : { ...message, context: { hooked: message.messageId } };
    };
    if (plan.hooks === "sync" || this.#random.chance(0.3)) {
      note(fate);
      return end() as never;
    }
    const tookMs = this.#random.pick(HOOK_MS);
    note(tookMs > HOOK_LIMIT_MS ? "throws" : fate);
    this.#begins();
    world.after(Math.min(tookMs, HOOK_LIMIT_MS), () => {
      this.#waiting -= 1;
    });
    return new Promise((resolve, reject) => {
      world.after(tookMs, () => {
        if (!this.clock.isAlive) return;
        try {
          resolve(end());
        } catch (error) {
          reject(error);
        }
      });
    }) as never;
  }

  #platform(): Platform {
    const { clock, newMessageId } = this.#parts;
    const transport = this.#transport();
    return {
      clock,
      defer: (task) => {
        setImmediate(() => {
          if (clock.isAlive) task();
        });
      },
      hold: () => () => {},
      newMessageId,
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

  #transport(): Transport {
    const { link, clock, deliver } = this.#parts;
    return {
      send: ({ url, headers, body }, signal) =>
        new Promise<TransportOutcome>((resolve) => {
          const bytes = Buffer.from(body);
          this.#noteSent(bytes);
          const onAbort = (): void => {
            stop();
            resolve({ kind: "failed", reason: "aborted" });
          };
          const stop = link.exchange<ServedAnswer>(
            () => deliver(new URL(url).pathname, headers, bytes),
            (end) => {
              signal.removeEventListener("abort", onAbort);
              if (!clock.isAlive) return;
              if (end.kind !== "answered") resolve({ kind: "failed", reason: end.kind });
              else {
                const { status, headers: answered, body: text } = end.answer;
                this.#noteWait(bytes, status, answered["retry-after"]);
                resolve({ kind: "answered", status, retryAfter: answered["retry-after"], body: text });
              }
            },
          );
          signal.addEventListener("abort", onAbort, { once: true });
        }),
    };
  }

  #noteWait(body: Buffer, status: number, retryAfter: string | undefined): void {
    if (retryAfter === undefined) return;
    const { history, plan, run, world } = this.#parts;
    const { batch } = JSON.parse(body.toString("utf8")) as { batch: { messageId: string }[] };
    history.refusals.push({
      sdk: plan.name,
      run,
      atMs: world.elapsedMs,
      status,
      waitMs: Number(retryAfter) * 1_000,
      messageIds: batch.map(({ messageId }) => messageId),
    });
  }

  #noteSent(body: Buffer): void {
    const { history, plan, run, world } = this.#parts;
    const { batch } = JSON.parse(body.toString("utf8")) as {
      batch: { messageId: string; context?: { hooked?: unknown } }[];
    };
    for (const { messageId, context } of batch)
      history.sends.push({
        sdk: plan.name,
        run,
        messageId,
        atMs: world.elapsedMs,
        isHooked: context?.hooked === messageId,
      });
  }
}
