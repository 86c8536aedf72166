import {
  type Answer,
  type Call,
  type FromWorker,
  MAINTENANCE,
  type Operations,
  type ToWorker,
  WRITES,
} from "../calls/operations.js";
import { Refusal } from "../calls/refusal.js";
import type { WorkerOptions } from "../calls/tuning.js";
import { asRefusal, isContained, isDamage } from "../database/damage.js";
import { CannotOpen, describe, isDamagedFile } from "../database/database.js";
import { resetLogFile } from "../database/reset-log-file.js";
import { applyEntry } from "../replica/apply-entry.js";
import { UnknownEntry } from "../replica/entry.js";
import { OpenStore } from "./open-store.js";

/** The thread's end of the channel to the connection. */
export interface StorePort {
  post(message: FromWorker, transfer: ArrayBuffer[]): void;
  /** The next message, if one has arrived already. */
  receive(): ToWorker | undefined;
  close(): void;
}

type State = { readonly kind: "open"; readonly store: OpenStore } | { readonly kind: "failed" };

/** A commit of this size takes no more calls, so that the first caller does not wait much longer than the last. */
const COMMIT_BYTES = 2 * 1024 * 1024;

/** About the size of the pages that every commit changes: the last page of each table, and the pages above it. */
const PAGES_A_COMMIT_BYTES = 64 * 1024;

/**
 * What the store's thread does. Nothing else uses the database.
 *
 * Group commit without a timer: everything that arrives during one commit makes the next. Writes are answered when their commit is
 * synced, then the reads that came with them run. Background work runs between commits, one short step at a time.
 *
 * Reads and writes fail separately. A read that fails is refused, and so is a write that meets damaged data; other calls are not
 * affected. Only a failed write or sync ends the use of the database:
 *
 * - `open`: entered when the database was opened. Takes calls. Left to `failed` when a write or a sync fails.
 * - `failed`: the state before the first opening, too. Refuses every call and writes nothing, until `reopen` opens what is on disk.
 *
 * `close` ends the thread in either state.
 */
export class StoreServer {
  readonly #port: StorePort;
  readonly #options: WorkerOptions;
  #state: State = { kind: "failed" };
  /** Calls to answer when the running compaction ends. */
  #compacting: Call[] = [];
  /** How much of the write-ahead log was acknowledged before the last failure. */
  #validLogBytes: number | undefined;
  #workIsScheduled = false;

  /** Opens the database. */
  constructor(port: StorePort, options: WorkerOptions) {
    this.#port = port;
    this.#options = options;
    this.#open();
  }

  #post(message: FromWorker, transfer: ArrayBuffer[] = []): void {
    this.#port.post(message, transfer);
  }

  #open(): void {
    try {
      const store = new OpenStore(this.#options, (error) => this.#damaged(error));
      this.#state = { kind: "open", store };
      this.#post({ kind: "opened", snapshot: store.snapshot });
      this.#scheduleWork();
    } catch (error) {
      if (isDamagedFile(error)) this.#post({ kind: "damaged", what: describe(error), isCertain: true });
      this.#post({
        kind: "not-opened",
        reason: describe(error),
        final: error instanceof CannotOpen ? error.final : true,
        isInUse: error instanceof CannotOpen && error.isInUse,
      });
    }
  }

  #damaged(error: unknown): void {
    this.#post({ kind: "damaged", what: asRefusal(error).message, isCertain: isDamage(error) });
  }

  /** Closes the database as it is, and refuses the calls. */
  #fail(store: OpenStore, error: unknown, calls: readonly Call[]): void {
    this.#state = { kind: "failed" };
    this.#validLogBytes = store.validLogBytes();
    try {
      store.abandon();
    } catch {
      // The failure to report is the one that led here.
    }
    this.#post({
      kind: "failed",
      reason: describe(error),
      ids: [...calls, ...this.#compacting].map(({ id }) => id),
    });
    this.#compacting = [];
  }

  /** Answers the calls of a message, and of those that have arrived meanwhile. */
  serve(first: ToWorker): void {
    const calls: Call[] = [];
    let control: ToWorker | undefined;
    let bytes = 0;
    for (let message: ToWorker | undefined = first; message !== undefined; ) {
      if (message.kind !== "calls") {
        control = message;
        break;
      }
      calls.push(...message.calls);
      bytes += message.calls.reduce((sum, call) => sum + bytesOf(call), 0);
      if (bytes >= COMMIT_BYTES) break;
      message = this.#port.receive();
    }
    if (calls.length > 0) this.#answer(calls, bytes);
    if (control?.kind === "reopen") this.#reopen();
    if (control?.kind === "close") this.#close();
  }

  #answer(calls: readonly Call[], bytes: number): void {
    if (this.#state.kind === "failed") {
      this.#post({ kind: "failed", reason: "the store is being reopened", ids: calls.map(({ id }) => id) });
      return;
    }
    let answers: Answer[];
    try {
      answers = this.#commitWrites(this.#state.store, calls, bytes);
    } catch (error) {
      this.#fail(this.#state.store, error, calls);
      return;
    }
    const { store, answers: reads, transfer, failure } = this.#answerReads(this.#state.store, calls);
    answers.push(...reads);
    if (answers.length > 0) this.#post({ kind: "answers", answers, stats: store.stats }, transfer);
    if (failure !== undefined) this.#fail(store, failure.error, failure.unanswered);
    this.#scheduleWork();
  }

  /** Throws if the commit failed. */
  #commitWrites(store: OpenStore, calls: readonly Call[], bytes: number): Answer[] {
    const writes = calls.filter(({ operation }) => WRITES.has(operation));
    if (writes.length === 0) return [];
    return store.commitCalls(writes, bytes * 1.1 + PAGES_A_COMMIT_BYTES).map((answered) =>
      answerTo(answered.call, () => {
        if (answered.kind === "refused") throw answered.refusal;
        return answered.answer;
      }),
    );
  }

  /** Runs the calls that do not write within a commit. */
  #answerReads(opened: OpenStore, calls: readonly Call[]): ReadAnswers {
    let store = opened;
    const answers: Answer[] = [];
    const transfer: ArrayBuffer[] = [];
    const reads = calls.filter(({ operation }) => !WRITES.has(operation));
    for (const [index, call] of reads.entries()) {
      try {
        if (call.operation === "compact") {
          store.beginCompaction();
          this.#compacting.push(call);
        } else if (call.operation === "clear") {
          store = store.cleared();
          this.#state = { kind: "open", store };
          if (this.#compacting.length > 0) store.beginCompaction();
          answers.push({ id: call.id, kind: "done", answer: undefined });
        } else if (call.operation === "apply") {
          answers.push(this.#apply(store, call));
          ({ store } = this.#state as Extract<State, { kind: "open" }>);
        } else {
          const read = answerTo(call, () => this.#readOnly(call, () => resultOf(store, call)));
          answers.push(withBuffers(read, transfer));
        }
      } catch (error) {
        return { store, answers, transfer, failure: { error, unanswered: reads.slice(index) } };
      }
    }
    return { store, answers, transfer, failure: undefined };
  }

  /** Applies an entry of a replicated log. Throws if the disk failed or stored data is damaged; both end the use of the database. */
  #apply(store: OpenStore, call: Call): Answer {
    const { sequence, data, isAnswered } = call.request as Operations["apply"]["request"];
    return answerTo(call, () => {
      try {
        const { store: next, answer } = applyEntry(store, sequence, data);
        this.#state = { kind: "open", store: next };
        if (next !== store && this.#compacting.length > 0) next.beginCompaction();
        return isAnswered ? answer : { applied: answer.applied };
      } catch (error) {
        if (error instanceof UnknownEntry) throw new Refusal("internal", error.message);
        if (isDamage(error)) this.#damaged(error);
        throw error;
      }
    });
  }

  /** Runs a call outside a commit. A failed read changes nothing, so it is refused without closing the database. */
  #readOnly(call: Call, run: () => unknown): unknown {
    try {
      return run();
    } catch (error) {
      if (error instanceof Refusal) throw error;
      if (MAINTENANCE.has(call.operation) && !isContained(error)) throw error;
      this.#damaged(error);
      throw asRefusal(error);
    }
  }

  #scheduleWork(): void {
    if (this.#workIsScheduled || this.#state.kind !== "open" || !this.#state.store.hasWork) return;
    this.#workIsScheduled = true;
    setImmediate(() => {
      this.#workIsScheduled = false;
      if (this.#state.kind !== "open") return;
      const { store } = this.#state;
      let refusal: Refusal | undefined;
      try {
        store.work();
      } catch (error) {
        if (!(error instanceof Refusal)) {
          this.#fail(store, error, []);
          return;
        }
        refusal = error;
      }
      if (this.#compacting.length > 0 && !store.isCompacting) {
        const answers = this.#compacting.map(
          ({ id }): Answer =>
            refusal === undefined
              ? { id, kind: "done", answer: undefined }
              : { id, kind: "refused", code: refusal.code, detail: refusal.message, current: undefined },
        );
        this.#compacting = [];
        this.#post({ kind: "answers", answers, stats: store.stats });
      }
      this.#scheduleWork();
    });
  }

  #reopen(): void {
    if (this.#state.kind === "open") return;
    try {
      resetLogFile(this.#options.directory, this.#validLogBytes);
    } catch (error) {
      this.#post({ kind: "not-opened", reason: describe(error), final: false, isInUse: false });
      return;
    }
    this.#open();
  }

  #close(): void {
    if (this.#state.kind === "open") {
      try {
        this.#state.store.close();
      } catch {
        // Everything acknowledged is synced in the write-ahead log. The next start reads it from there.
      }
    }
    this.#post({ kind: "closed" });
    this.#port.close();
  }
}

function resultOf(store: OpenStore, call: Call): unknown {
  switch (call.operation) {
    case "describe":
      return store.snapshot;
    case "beginCopySnapshot":
      return store.beginCopySnapshot();
    case "profiles": {
      const { method, args } = call.request as Operations["profiles"]["request"];
      const run = store.profiles[method] as (...args: unknown[]) => unknown;
      return run.apply(store.profiles, [...args]);
    }
    default:
      return store.call(call);
  }
}

function bytesOf({ request }: Call): number {
  const { bodies } = request as { bodies?: Uint8Array };
  return (bodies?.byteLength ?? 0) + 256;
}

interface ReadAnswers {
  /** The store after the calls: `clear` replaces it. */
  readonly store: OpenStore;
  readonly answers: readonly Answer[];
  readonly transfer: ArrayBuffer[];
  /** The error that ended the use of the database, and the calls that it leaves without an answer. */
  readonly failure: { readonly error: unknown; readonly unanswered: readonly Call[] } | undefined;
}

function answerTo({ id }: Call, run: () => unknown): Answer {
  try {
    return { id, kind: "done", answer: run() };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { id, kind: "refused", code: error.code, detail: error.message, current: error.current };
  }
}

/** Rows and parts of a snapshot are transferred, not copied. Each has its own buffers. */
function withBuffers(answer: Answer, transfer: ArrayBuffer[]): Answer {
  const { rows } = ((answer.kind === "done" ? answer.answer : undefined) ?? {}) as {
    rows?: readonly { meta: Uint8Array<ArrayBuffer>; body: Uint8Array<ArrayBuffer> }[];
  };
  for (const { meta, body } of rows ?? []) transfer.push(meta.buffer, body.buffer);
  if (answer.kind === "done" && answer.answer instanceof Uint8Array)
    transfer.push((answer.answer as Uint8Array<ArrayBuffer>).buffer);
  return answer;
}
