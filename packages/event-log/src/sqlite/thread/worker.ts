import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import {
  type Answer,
  type Call,
  type FromWorker,
  MAINTENANCE,
  type ToWorker,
  WRITES,
} from "../calls/operations.js";
import { Refusal } from "../calls/refusal.js";
import type { WorkerOptions } from "../calls/tuning.js";
import { asRefusal, isContained } from "../database/damage.js";
import { CannotOpen, describe } from "../database/database.js";
import { resetLogFile } from "../database/reset-log-file.js";
import { OpenStore } from "./open-store.js";

/**
 * The store's worker thread. Only this thread uses the database.
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
type State = { readonly kind: "open"; readonly store: OpenStore } | { readonly kind: "failed" };

const options = workerData as WorkerOptions;
if (parentPort === null) throw new Error("This file runs only in a worker thread");
const port = parentPort;

/** A commit of this size takes no more calls, so that the first caller does not wait much longer than the last. */
const COMMIT_BYTES = 2 * 1024 * 1024;

/** About the size of the pages that every commit changes: the last page of each table, and the pages above it. */
const PAGES_A_COMMIT_BYTES = 64 * 1024;

let state: State = { kind: "failed" };
/** Calls to answer when the running compaction ends. */
let compacting: Call[] = [];
/** How much of the write-ahead log was acknowledged before the last failure. */
let validLogBytes: number | undefined;

function post(message: FromWorker, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

function open(): void {
  try {
    const store = new OpenStore(options, damaged);
    state = { kind: "open", store };
    post({ kind: "opened", snapshot: store.snapshot });
    scheduleWork();
  } catch (error) {
    post({
      kind: "not-opened",
      reason: describe(error),
      final: error instanceof CannotOpen ? error.final : true,
    });
  }
}

function damaged(error: unknown): void {
  post({ kind: "damaged", what: asRefusal(error).message });
}

/** Closes the database as it is, and refuses the calls. */
function fail(store: OpenStore, error: unknown, calls: readonly Call[]): void {
  state = { kind: "failed" };
  validLogBytes = store.validLogBytes();
  try {
    store.database.close();
  } catch {
    // The failure to report is the one that led here.
  }
  post({ kind: "failed", reason: describe(error), ids: [...calls, ...compacting].map(({ id }) => id) });
  compacting = [];
}

function serve(first: ToWorker): void {
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
    message = receiveMessageOnPort(port)?.message as ToWorker | undefined;
  }
  if (calls.length > 0) answer(calls, bytes);
  if (control?.kind === "reopen") reopen();
  if (control?.kind === "close") close();
}

function bytesOf({ request }: Call): number {
  const { bodies } = request as { bodies?: Uint8Array };
  return (bodies?.byteLength ?? 0) + 256;
}

function answer(calls: readonly Call[], bytes: number): void {
  if (state.kind === "failed") {
    post({ kind: "failed", reason: "the store is being reopened", ids: calls.map(({ id }) => id) });
    return;
  }
  let answers: Answer[];
  try {
    answers = commitWrites(state.store, calls, bytes);
  } catch (error) {
    fail(state.store, error, calls);
    return;
  }
  const { store, answers: reads, transfer, failure } = answerReads(state.store, calls);
  answers.push(...reads);
  if (answers.length > 0) post({ kind: "answers", answers, stats: store.stats }, transfer);
  if (failure !== undefined) fail(store, failure.error, failure.unanswered);
  scheduleWork();
}

/** Throws if the commit failed. */
function commitWrites(store: OpenStore, calls: readonly Call[], bytes: number): Answer[] {
  const writes = calls.filter(({ operation }) => WRITES.has(operation));
  if (writes.length === 0) return [];
  return store.commitCalls(writes, bytes * 1.1 + PAGES_A_COMMIT_BYTES).map((answered) =>
    answerTo(answered.call, () => {
      if (answered.kind === "refused") throw answered.refusal;
      return answered.answer;
    }),
  );
}

interface ReadAnswers {
  /** The store after the calls: `clear` replaces it. */
  readonly store: OpenStore;
  readonly answers: readonly Answer[];
  readonly transfer: ArrayBuffer[];
  /** The error that ended the use of the database, and the calls that it leaves without an answer. */
  readonly failure: { readonly error: unknown; readonly unanswered: readonly Call[] } | undefined;
}

/** Runs the calls that do not write within a commit. */
function answerReads(opened: OpenStore, calls: readonly Call[]): ReadAnswers {
  let store = opened;
  const answers: Answer[] = [];
  const transfer: ArrayBuffer[] = [];
  const reads = calls.filter(({ operation }) => !WRITES.has(operation));
  for (const [index, call] of reads.entries()) {
    try {
      if (call.operation === "compact") {
        store.beginCompaction();
        compacting.push(call);
      } else if (call.operation === "clear") {
        store = store.cleared();
        state = { kind: "open", store };
        if (compacting.length > 0) store.beginCompaction();
        answers.push({ id: call.id, kind: "done", answer: undefined });
      } else {
        const read = answerTo(call, () => readOnly(store, call));
        answers.push(withBuffers(read, transfer));
      }
    } catch (error) {
      return { store, answers, transfer, failure: { error, unanswered: reads.slice(index) } };
    }
  }
  return { store, answers, transfer, failure: undefined };
}

/** Runs a call outside a commit. A failed read changes nothing, so it is refused without closing the database. */
function readOnly(store: OpenStore, call: Call): unknown {
  try {
    return store.call(call);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if (MAINTENANCE.has(call.operation) && !isContained(error)) throw error;
    damaged(error);
    throw asRefusal(error);
  }
}

function answerTo({ id }: Call, run: () => unknown): Answer {
  try {
    return { id, kind: "done", answer: run() };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { id, kind: "refused", code: error.code, detail: error.message, current: error.current };
  }
}

/** Rows are transferred, not copied. Each has its own buffers. */
function withBuffers(answer: Answer, transfer: ArrayBuffer[]): Answer {
  const { rows } = ((answer.kind === "done" ? answer.answer : undefined) ?? {}) as {
    rows?: readonly { meta: Uint8Array<ArrayBuffer>; body: Uint8Array<ArrayBuffer> }[];
  };
  for (const { meta, body } of rows ?? []) transfer.push(meta.buffer, body.buffer);
  return answer;
}

let workIsScheduled = false;

function scheduleWork(): void {
  if (workIsScheduled || state.kind !== "open" || !state.store.hasWork) return;
  workIsScheduled = true;
  setImmediate(() => {
    workIsScheduled = false;
    if (state.kind !== "open") return;
    const { store } = state;
    let refusal: Refusal | undefined;
    try {
      store.work();
    } catch (error) {
      if (!(error instanceof Refusal)) {
        fail(store, error, []);
        return;
      }
      refusal = error;
    }
    if (compacting.length > 0 && !store.isCompacting) {
      const answers = compacting.map(
        ({ id }): Answer =>
          refusal === undefined
            ? { id, kind: "done", answer: undefined }
            : { id, kind: "refused", code: refusal.code, detail: refusal.message, current: undefined },
      );
      compacting = [];
      post({ kind: "answers", answers, stats: store.stats });
    }
    scheduleWork();
  });
}

function reopen(): void {
  if (state.kind === "open") return;
  try {
    resetLogFile(options.directory, validLogBytes);
  } catch (error) {
    post({ kind: "not-opened", reason: describe(error), final: false });
    return;
  }
  open();
}

function close(): void {
  if (state.kind === "open") {
    try {
      state.store.close();
    } catch {
      // Everything acknowledged is synced in the write-ahead log. The next start reads it from there.
    }
  }
  post({ kind: "closed" });
  port.close();
}

port.on("message", serve);
open();
