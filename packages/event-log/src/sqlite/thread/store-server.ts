import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import {
  type Answer,
  CALLS,
  type Call,
  type CallAnswer,
  DONE,
  type FromWorker,
  isWrite,
  type Join,
  type Operations,
  type ToWorker,
} from "../calls/operations.js";
import { Refusal, refusedWith } from "../calls/refusal.js";
import { buffersOfAnswer, sharedStats, shareStats } from "../calls/sharing.js";
import type { WorkerOptions } from "../calls/tuning.js";
import { asRefusal, isContained, isDamage } from "../database/damage.js";
import { CannotOpen, describe, isDamagedFile } from "../database/database.js";
import { resetLogFile } from "../database/database-files.js";
import { applyEntry } from "../replica/apply-entry.js";
import { UnknownEntry } from "../replica/entry.js";
import { OpenStore } from "./open-store.js";

/** The thread's end of the channel to a thread that calls. */
export interface StorePort {
  post(message: FromWorker, transfer: ArrayBuffer[]): void;
  /** The next message, if one has arrived already. */
  receive(): ToWorker | undefined;
  close(): void;
}

/** A port of `node:worker_threads`, without its events. */
export function storePort(
  port: Pick<MessagePort, "postMessage" | "close"> & Parameters<typeof receiveMessageOnPort>[0],
): StorePort {
  return {
    post: (message, transfer) => port.postMessage(message, transfer),
    receive: () => receiveMessageOnPort(port)?.message as ToWorker | undefined,
    close: () => port.close(),
  };
}

/** A thread that calls. */
interface Client {
  readonly port: StorePort;
  /** Whether its calls are taken. */
  isAdmitted(): boolean;
  /** How many sources it knows. */
  sources: number;
}

/** A call, and who asks. Ids are the client's. */
interface Asked extends Call {
  readonly client: Client;
}

type Answered = Answer & { readonly client: Client };

type State =
  | { readonly kind: "open"; readonly store: OpenStore }
  | { readonly kind: "failed"; readonly reason: string };

/** A commit of this size takes no more calls, so that the first caller does not wait much longer than the last. */
const COMMIT_BYTES = 2 * 1024 * 1024;

/**
 * What the store's thread does. Nothing else uses the database. The thread that started it is its first client, and may let others join.
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
  readonly #first: Client;
  /** The first one comes first. Those that joined leave when the store fails: no call from before reaches the store that is opened again. */
  readonly #clients: Set<Client>;
  readonly #options: WorkerOptions;
  readonly #shared = sharedStats({ head: -1, messages: 0, bytes: 0 });
  #state: State = { kind: "failed", reason: "the store is not open yet" };
  /** Calls to answer when the running compaction ends. */
  #compacting: Asked[] = [];
  /** Reads to answer when there is more to read. */
  #waiting: Asked[] = [];
  /** What was admitted before this change of a document is handed back. */
  #fence = 0;
  #workIsScheduled = false;

  /** Opens the database. */
  constructor(port: StorePort, options: WorkerOptions) {
    this.#first = { port, sources: 0, isAdmitted: () => true };
    this.#clients = new Set([this.#first]);
    this.#options = options;
    this.#open(true);
  }

  #post(message: FromWorker, transfer: ArrayBuffer[] = [], { port }: Client = this.#first): void {
    port.post(message, transfer);
  }

  #join({ port, gate, sources, fence }: Join): void {
    const client: Client = { port: storePort(port), sources, isAdmitted: () => Atomics.load(gate, 0) !== 0 };
    this.#fence = Math.max(this.#fence, fence);
    port.on("message", (message: ToWorker) => this.serve(message, client));
    port.on("close", () => this.#left(client));
    if (this.#state.kind === "failed") port.close();
    else this.#clients.add(client);
  }

  #left(client: Client): void {
    this.#clients.delete(client);
    this.#waiting = this.#waiting.filter((call) => call.client !== client);
  }

  #open(isFirst = false): void {
    try {
      const damaged = (error: unknown): void => this.#damaged(error);
      const noted = (what: string): void => this.#post({ kind: "noted", what });
      const store = OpenStore.open(this.#options, { damaged, noted, isFirst, isCareful: false });
      this.#state = { kind: "open", store };
      const { snapshot } = store;
      this.#first.sources = snapshot.sources.length;
      shareStats(this.#shared, snapshot.stats);
      this.#post({ kind: "opened", snapshot: { ...snapshot, shared: this.#shared } });
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
  #fail(store: OpenStore, error: unknown, calls: readonly Asked[]): void {
    const reason = describe(error);
    this.#state = { kind: "failed", reason };
    try {
      store.abandon();
    } catch {
      // The failure to report is the one that led here.
    }
    this.#refuse(reason, [...calls, ...this.#compacting, ...this.#waiting]);
    this.#compacting = [];
    this.#waiting = [];
    for (const client of this.#clients)
      if (client !== this.#first) {
        client.port.close();
        this.#clients.delete(client);
      }
  }

  /** Tells the first client in any case. */
  #refuse(reason: string, calls: readonly Asked[]): void {
    for (const client of this.#clients) {
      const ids = calls.filter((call) => call.client === client).map(({ id }) => id);
      if (ids.length > 0 || client === this.#first) this.#post({ kind: "failed", reason, ids }, [], client);
    }
  }

  /** Answers the calls of a message, and of those that have arrived meanwhile from any client. */
  serve(first: ToWorker, from: Client = this.#first): void {
    const calls: Asked[] = [];
    let control: ToWorker | undefined;
    let bytes = 0;
    const take = (message: ToWorker, client: Client): void => {
      if (!this.#clients.has(client) || !client.isAdmitted()) return;
      if (message.kind === "join") this.#join(message);
      else if (message.kind !== "calls") control = message;
      else
        for (const call of message.calls) {
          calls.push({ ...call, client });
          bytes += bytesOf(call);
        }
    };
    take(first, from);
    for (const client of this.#clients)
      while (control === undefined && bytes < COMMIT_BYTES) {
        const message = client.port.receive();
        if (message === undefined) break;
        take(message, client);
      }
    if (calls.length > 0) this.#answer(calls);
    const { kind } = (control ?? first) as ToWorker;
    if (kind === "reopen") this.#reopen();
    if (kind === "close") this.#close();
  }

  #answer(calls: readonly Asked[]): void {
    if (this.#state.kind === "failed") {
      this.#refuse(this.#state.reason, calls);
      return;
    }
    const answers: Answered[] = [];
    const writes: Asked[] = [];
    const unanswered: Asked[] = [];
    for (const call of calls)
      if (!isWrite(call.operation)) unanswered.push(call);
      else if (this.#isOld(call)) answers.push({ id: call.id, client: call.client, ...HANDED_BACK });
      else writes.push(call);
    try {
      answers.push(...this.#commitWrites(writes));
    } catch (error) {
      this.#fail(this.#store, error, calls);
      return;
    }
    const transfers = new Map<Client, ArrayBuffer[]>();
    const answerReads = (): void => {
      for (let [read] = unanswered; read !== undefined; [read] = unanswered) {
        answers.push(...this.#answerRead(read, transfers));
        unanswered.shift();
      }
    };
    let failure: { readonly error: unknown } | undefined;
    try {
      this.#commitIfDue();
      answerReads();
      // An entry that was applied may be what they wait for.
      unanswered.push(...this.#noLongerWaiting());
      answerReads();
    } catch (error) {
      failure = { error };
    }
    this.#send(answers, transfers);
    if (failure !== undefined) this.#fail(this.#store, failure.error, unanswered);
    this.#scheduleWork();
  }

  /** Whether it was admitted by documents that have changed since. */
  #isOld({ operation, request }: Call): boolean {
    if (operation !== "append") return false;
    const { change } = request as Operations["append"]["request"];
    return change !== undefined && change < this.#fence;
  }

  /** Throws if nothing of them was kept. */
  #commitWrites(writes: readonly Asked[]): Answered[] {
    if (writes.length === 0) return [];
    // Ids of several clients may be equal.
    const calls = writes.map(({ operation, request }, id): Call => ({ id, operation, request }));
    const answers = this.#unspoiled((store) => store.commitCalls(calls));
    return writes.map(({ id, client }, place) => ({ id, client, ...(answers[place] as CallAnswer) }));
  }

  /** Each client gets its answers in one message. */
  #send(answered: readonly Answered[], transfers: ReadonlyMap<Client, ArrayBuffer[]>): void {
    const { stats, sources } = this.#store;
    shareStats(this.#shared, stats);
    const byClient = new Map<Client, Answer[]>();
    for (const { client, ...answer } of answered) {
      const known = byClient.get(client);
      if (known === undefined) byClient.set(client, [answer]);
      else known.push(answer);
    }
    for (const [client, answers] of byClient) {
      const named = sources.size === client.sources ? [] : [...sources].slice(client.sources);
      client.sources += named.length;
      const told = named.length === 0 ? stats : { ...stats, named };
      this.#post({ kind: "answers", answers, stats: told }, transfers.get(client), client);
    }
  }

  #noLongerWaiting(): Asked[] {
    if (this.#waiting.length === 0) return [];
    const due = this.#waiting.filter((call) => !this.#isAtEnd(call));
    if (due.length > 0) this.#waiting = this.#waiting.filter((call) => !due.includes(call));
    return due;
  }

  #isAtEnd({ request }: Call): boolean {
    const { after, waits = false } = request as Operations["readLog"]["request"];
    return waits && after >= this.#store.stats.head;
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
  #answerRead(call: Asked, transfers: Map<Client, ArrayBuffer[]>): Answered[] {
    const { id, client, request } = call;
    if (call.operation === "readLog" && this.#isAtEnd(call)) {
      this.#waiting.push(call);
      return [];
    }
    switch (call.operation) {
      case "compact":
        this.#store.beginCompaction();
        this.#compacting.push(call);
        return [];
      case "clear":
        this.#replace(this.#store.cleared());
        return [{ id, client, ...DONE }];
      case "fence":
        this.#fence = Math.max(this.#fence, (request as Operations["fence"]["request"]).change);
        return [{ id, client, ...DONE }];
      case "apply":
        return [{ client, ...this.#apply(call) }];
      default: {
        const read = answerTo(call, () => this.#readOnly(call));
        const buffers = buffersOfAnswer(read);
        if (buffers.length > 0) transfers.set(client, [...(transfers.get(client) ?? []), ...buffers]);
        return [{ client, ...read }];
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
      return this.#unspoiled((store) => this.#resultOf(store, call));
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
      if (this.#compacting.length > 0 && !this.#store.isCompacting) {
        const ended = refusal === undefined ? DONE : refusedWith(refusal);
        const answers = this.#compacting.map(({ id, client }): Answered => ({ id, client, ...ended }));
        this.#compacting = [];
        this.#send(answers, new Map());
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
    for (const { port } of this.#clients) port.close();
  }

  #resultOf(store: OpenStore, call: Call): unknown {
    switch (call.operation) {
      case "describe":
        return { ...store.snapshot, shared: this.#shared };
      case "beginCopySnapshot":
        return store.beginCopySnapshot();
      default:
        return store.call(call);
    }
  }
}

const HANDED_BACK: CallAnswer = { kind: "done", answer: { isHandedBack: true } };

/** Throws `CannotOpen`, which ends the use of the database. */
function reopened(store: OpenStore): OpenStore {
  try {
    return store.reopened(true);
  } catch (error) {
    throw error instanceof CannotOpen ? error : new CannotOpen(describe(error), { cause: error });
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
