import { buffersOfAnswer } from "../calls/answer-buffers.js";
import {
  type Answer,
  CALLS,
  type Call,
  type CallAnswer,
  DONE,
  type FromWorker,
  isWrite,
  type Operations,
  type ToWorker,
} from "../calls/operations.js";
import { Refusal, refusedWith } from "../calls/refusal.js";
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

type State =
  | { readonly kind: "open"; readonly store: OpenStore }
  | { readonly kind: "failed"; readonly reason: string };

/** A commit of this size takes no more calls, so that the first caller does not wait much longer than the last. */
const COMMIT_BYTES = 2 * 1024 * 1024;

/**
 * What the store's thread does. Nothing else uses the database.
 *
 * Groups without a timer: everything that arrives while one entry of the log is synced makes the next. Writes are answered when their
 * entry is synced, then the reads that came with them run. Background work runs between entries, one short step at a time. The database is
 * committed from time to time, for many entries at once (`Transaction`).
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
  #state: State = { kind: "failed", reason: "the store is not open yet" };
  /** Calls to answer when the running compaction ends. */
  #compacting: Call[] = [];
  #workIsScheduled = false;

  /** Opens the database. */
  constructor(port: StorePort, options: WorkerOptions) {
    this.#port = port;
    this.#options = options;
    this.#open(true);
  }

  #post(message: FromWorker, transfer: ArrayBuffer[] = []): void {
    this.#port.post(message, transfer);
  }

  #open(isFirst = false): void {
    try {
      const damaged = (error: unknown): void => this.#damaged(error);
      const noted = (what: string): void => this.#post({ kind: "noted", what });
      const store = OpenStore.open(this.#options, { damaged, noted, isFirst, isCareful: false });
      this.#state = { kind: "open", store };
      this.#post({ kind: "opened", snapshot: store.snapshot });
      this.#scheduleWork();
    } catch (error) {
      if (isDamagedFile(error)) this.#post({ kind: "damaged", what: describe(error), isCertain: true });
      this.#post({
        kind: "not-opened",
        reason: describe(error),
        isInUse: error instanceof CannotOpen && error.isInUse,
      });
    }
  }

  get #store(): OpenStore {
    if (this.#state.kind !== "open") throw new Error("the store is not open");
    return this.#state.store;
  }

  #damaged(error: unknown): void {
    this.#post({ kind: "damaged", what: asRefusal(error).message, isCertain: isDamage(error) });
  }

  /** Closes the database as it is, and refuses the calls. */
  #fail(store: OpenStore, error: unknown, calls: readonly Call[]): void {
    const reason = describe(error);
    this.#state = { kind: "failed", reason };
    try {
      store.abandon();
    } catch {
      // The failure to report is the one that led here.
    }
    this.#post({
      kind: "failed",
      reason,
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
    if (calls.length > 0) this.#answer(calls);
    if (control?.kind === "reopen") this.#reopen();
    if (control?.kind === "close") this.#close();
  }

  #answer(calls: readonly Call[]): void {
    if (this.#state.kind === "failed") {
      this.#post({ kind: "failed", reason: this.#state.reason, ids: calls.map(({ id }) => id) });
      return;
    }
    const writes = calls.filter(({ operation }) => isWrite(operation));
    const reads = calls.filter(({ operation }) => !isWrite(operation));
    let answers: Answer[];
    try {
      answers = this.#commitWrites(writes);
    } catch (error) {
      this.#fail(this.#store, error, calls);
      return;
    }
    const transfer: ArrayBuffer[] = [];
    const unanswered = [...reads];
    let failure: { readonly error: unknown } | undefined;
    try {
      this.#commitIfDue();
      for (const call of reads) {
        answers.push(...this.#answerRead(call, transfer));
        unanswered.shift();
      }
    } catch (error) {
      failure = { error };
    }
    const store = this.#store;
    if (answers.length > 0) this.#post({ kind: "answers", answers, stats: store.stats }, transfer);
    if (failure !== undefined) this.#fail(store, failure.error, unanswered);
    this.#scheduleWork();
  }

  /** Throws if nothing of them was kept. */
  #commitWrites(writes: readonly Call[]): Answer[] {
    if (writes.length === 0) return [];
    const answers = this.#unspoiled((store) => store.commitCalls(writes));
    return writes.map(({ id }, place) => ({ id, ...(answers[place] as CallAnswer) }));
  }

  /** The writes in it are in the log. */
  #commitIfDue(): void {
    this.#unspoiled((store) => {
      if (store.isCommitDue) store.commit();
    });
  }

  /** Runs work on the store, and again on the one that replaces it if somebody had read a damaged page in its transaction. */
  #unspoiled<T>(work: (store: OpenStore) => T): T {
    const store = this.#store;
    try {
      return work(store);
    } catch (error) {
      if (!store.isSpoiled(error)) throw error;
      return work(this.#replace(reopened(store)));
    }
  }

  #replace(store: OpenStore): OpenStore {
    this.#state = { kind: "open", store };
    if (this.#compacting.length > 0) store.beginCompaction();
    return store;
  }

  /** Runs a call outside an entry. Without an answer, it comes later. */
  #answerRead(call: Call, transfer: ArrayBuffer[]): Answer[] {
    switch (call.operation) {
      case "compact":
        this.#store.beginCompaction();
        this.#compacting.push(call);
        return [];
      case "clear":
        this.#replace(this.#store.cleared());
        return [{ id: call.id, ...DONE }];
      case "apply":
        return [this.#apply(call)];
      default: {
        const read = answerTo(call, () => this.#readOnly(call));
        transfer.push(...buffersOfAnswer(read));
        return [read];
      }
    }
  }

  /** Applies an entry of a replicated log. Throws if the disk failed or stored data is damaged; both end the use of the database. */
  #apply(call: Call): Answer {
    const { sequence, data, isAnswered } = call.request as Operations["apply"]["request"];
    const store = this.#store;
    return answerTo(call, () => {
      try {
        const { store: next, answer } = applyEntry(store, sequence, data);
        if (next !== store) this.#replace(next);
        return isAnswered ? answer : { applied: answer.applied };
      } catch (error) {
        if (error instanceof UnknownEntry) throw new Refusal("internal", error.message);
        if (isDamage(error)) this.#damaged(error);
        throw error;
      }
    });
  }

  /** A failed read changes nothing, so it is refused without closing the database. */
  #readOnly(call: Call): unknown {
    try {
      return this.#unspoiled((store) => resultOf(store, call));
    } catch (error) {
      if (error instanceof Refusal || error instanceof CannotOpen) throw error;
      if (CALLS[call.operation] === "maintenance" && !isContained(error)) throw error;
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
      let refusal: Refusal | undefined;
      try {
        this.#unspoiled((store) => store.work());
        this.#commitIfDue();
      } catch (error) {
        if (!(error instanceof Refusal)) {
          this.#fail(this.#store, error, []);
          return;
        }
        refusal = error;
      }
      const store = this.#store;
      if (this.#compacting.length > 0 && !store.isCompacting) {
        const answers = this.#compacting.map(
          ({ id }): Answer => ({ id, ...(refusal === undefined ? DONE : refusedWith(refusal)) }),
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
      resetLogFile(this.#options.directory);
    } catch (error) {
      this.#post({ kind: "not-opened", reason: describe(error), isInUse: false });
      return;
    }
    this.#open();
  }

  #close(): void {
    if (this.#state.kind === "open") {
      try {
        this.#state.store.close();
      } catch {
        // Everything acknowledged is in the log. The next start reads it from there.
      }
    }
    this.#post({ kind: "closed" });
    this.#port.close();
  }
}

/** Throws `CannotOpen`, which ends the use of the database. */
function reopened(store: OpenStore): OpenStore {
  try {
    return store.reopened(true);
  } catch (error) {
    throw error instanceof CannotOpen ? error : new CannotOpen(describe(error), { cause: error });
  }
}

function resultOf(store: OpenStore, call: Call): unknown {
  switch (call.operation) {
    case "describe":
      return store.snapshot;
    case "beginCopySnapshot":
      return store.beginCopySnapshot();
    default:
      return store.call(call);
  }
}

function bytesOf({ request }: Call): number {
  const { bodies } = request as { bodies?: Uint8Array };
  return (bodies?.byteLength ?? 0) + 256;
}

function answerTo({ id }: Call, run: () => unknown): Answer {
  try {
    return { id, kind: "done", answer: run() };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { id, ...refusedWith(error) };
  }
}
