import type { Worker } from "node:worker_threads";
import type { StoredBatch, SuppressedId } from "@sluice/event-log";
import { parseJson, StorageUnavailable, StoreError } from "@sluice/event-log";
import { startThread, type ThreadRoom } from "@sluice/resilience/node";
import type { AudienceEngine } from "../engine.js";
import type { Engine } from "../start-audiences.js";
import type { Logger, Metrics } from "../telemetry.js";
import type { Answer, Call, EngineThreadOptions, Failure, Notice } from "./calls.js";

/** Of a step's messages hardly anything stays; the profiles that are kept in memory are bounded by number. */
const ROOM: ThreadRoom = { youngMb: 24, oldMb: 512 };

export interface StartWorkerOptions {
  /** What the thread may use. Default: 24 MB for short-lived objects, 512 MB for all others. */
  readonly room?: ThreadRoom;
  /** The file that the thread runs. Default: `worker.ts`, or what the build makes of it. */
  readonly entry?: URL;
}

export function startWorker(
  options: EngineThreadOptions,
  { room = ROOM, entry }: StartWorkerOptions = {},
): Worker {
  const isSource = import.meta.url.endsWith(".ts");
  const own = new URL(isSource ? "./worker.ts" : "./audience-worker.js", import.meta.url);
  return startThread(entry ?? own, { name: "sluice-audiences", room, workerData: options });
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
  /** Asks again in another thread. Undefined for a call whose bytes went with the thread, or that was asked again already. */
  readonly again: (() => Promise<unknown>) | undefined;
}

type State =
  | { readonly kind: "stopped" }
  | { readonly kind: "running"; readonly worker: Worker; readonly waiting: Map<number, Waiting> }
  /** The thread said that it ends: calls wait for the next one. */
  | { readonly kind: "ending"; readonly ended: Promise<void> }
  | { readonly kind: "closed" };

export interface EngineThreadParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Default: a thread of this process. */
  readonly startThread?: (options: EngineThreadOptions) => Worker;
}

/**
 * The engine in a thread of its own. A thread that dies fails the calls that wait for it, and nothing else: the next call starts
 * another, which goes on from what was committed.
 */
export function startEngineThread(
  options: EngineThreadOptions,
  { logger, metrics, startThread = startWorker }: EngineThreadParts,
): Engine {
  let state: State = { kind: "stopped" };
  let nextId = 1;
  let isClosing = false;
  let emptied = (): void => {};
  /** What the engine does not remember by itself: the next thread is told again. */
  const suppressed = new Map<string, SuppressedId>();
  let digestKey: Uint8Array | undefined;
  let joins: Parameters<Engine["allowJoins"]> | undefined;
  const deaths = metrics.counter(
    "sluice_audience_engine_deaths_total",
    "How often the thread of audiences ended by itself; it is started again",
  );

  const start = (): Extract<State, { kind: "running" }> => {
    const worker = startThread(options);
    const running = { kind: "running", worker, waiting: new Map<number, Waiting>() } as const;
    let cause: unknown;
    worker.on("message", (answer: Answer | Notice) => {
      if ("setAside" in answer) {
        logger.warn(
          "profiles.db was damaged and is made again from the log; destinations are told again who is in each audience, and what only messages told that retention has dropped is lost",
          { damagedFile: answer.setAside },
        );
        if (answer.isEnding && state === running)
          state = { kind: "ending", ended: new Promise((resolve) => worker.once("exit", () => resolve())) };
        emptied();
        return;
      }
      const one = running.waiting.get(answer.id);
      running.waiting.delete(answer.id);
      if ("result" in answer) one?.resolve(answer.result);
      else if ("json" in answer) one?.resolve(parseJson(answer.json));
      else one?.reject(asError(answer.error));
    });
    worker.on("error", (error) => {
      cause = error;
    });
    // Only then its hold on the file has ended, and another can be started.
    worker.on("exit", () => {
      const wasExpected = state.kind === "ending";
      if (state === running || wasExpected) state = { kind: "stopped" };
      const [under, ...queued] = running.waiting.values();
      running.waiting.clear();
      const ended = new StorageUnavailable("the audiences' thread ended", cause);
      under?.reject(ended);
      // Calls are answered in their order: those after the first had not begun, and it was not they that ended the thread.
      for (const one of queued) {
        if (isClosing || one.again === undefined) one.reject(ended);
        else one.again().then(one.resolve, one.reject);
      }
      if (isClosing || wasExpected) return;
      deaths.inc();
      logger.error("the thread of audiences ended; it is started again", { error: cause });
    });
    const tell = (method: Call["method"], args: readonly unknown[]): void =>
      worker.postMessage({ id: nextId++, method, args } satisfies Call);
    if (digestKey !== undefined) tell("suppress", [{ key: digestKey, ids: [...suppressed.values()] }]);
    if (joins !== undefined) tell("allowJoins", joins);
    state = running;
    return running;
  };

  const ask = (
    method: Call["method"],
    args: readonly unknown[],
    transfer: ArrayBuffer[],
    isFirst = true,
  ): Promise<unknown> => {
    if (state.kind === "closed") return Promise.reject(new StorageUnavailable("audiences are closed"));
    if (state.kind === "ending") return state.ended.then(() => ask(method, args, transfer, isFirst));
    const { worker, waiting } = state.kind === "running" ? state : start();
    const id = nextId++;
    return new Promise((resolve, reject) => {
      const isRepeatable = isFirst && transfer.length === 0;
      const again = isRepeatable ? () => ask(method, args, [], false) : undefined;
      waiting.set(id, { resolve, reject, again });
      worker.postMessage({ id, method, args } satisfies Call, transfer);
    });
  };
  const method = <Name extends keyof AudienceEngine>(name: Name) =>
    ((...args: unknown[]) => ask(name, args, [])) as unknown as Engine[Name];
  /** Methods of which nobody waits for the answer. */
  const notice = <Name extends keyof AudienceEngine>(name: Name) =>
    ((...args: unknown[]) => void ask(name, args, []).catch(() => {})) as unknown as Engine[Name];
  /** Methods that are given batches: their bytes are copied once, into one buffer that changes hands. */
  const withBatches =
    <Rest extends readonly unknown[], Result>(name: keyof AudienceEngine, place: number) =>
    (...args: Rest): Promise<Result> => {
      const { batches, buffer } = withOwnBytes(args[place] as readonly StoredBatch[]);
      return ask(name, args.with(place, batches), [buffer]) as Promise<Result>;
    };

  return {
    onEmptied(listener) {
      emptied = listener;
    },
    suppress: ({ key, ids }) => {
      digestKey = key;
      for (const one of ids) {
        if (one.spans.length > 0) suppressed.set(one.digest, one);
        else suppressed.delete(one.digest);
      }
      notice("suppress")({ key, ids });
    },
    allowJoins: (...args) => {
      joins = args;
      notice("allowJoins")(...args);
    },
    define: method("define"),
    owed: method("owed"),
    paid: notice("paid"),
    settle: method("settle"),
    sync: method("sync"),
    consume: withBatches("consume", 0),
    tick: method("tick"),
    readHistory: withBatches("readHistory", 0),
    work: method("work"),
    figures: method("figures"),
    members: method("members"),
    values: method("values"),
    why: method("why"),
    whyValue: method("whyValue"),
    profile: method("profile"),
    previewBegin: method("previewBegin"),
    previewHistory: withBatches("previewHistory", 1),
    previewScan: method("previewScan"),
    previewEnd: notice("previewEnd"),
    refusedJoins: method("refusedJoins"),
    identitiesOf: method("identitiesOf"),
    setAside: method("setAside"),
    forget: method("forget"),
    forgetSome: method("forgetSome"),
    compact: method("compact"),
    async close() {
      isClosing = true;
      if (state.kind === "ending") await state.ended;
      if (state.kind !== "running") {
        state = { kind: "closed" };
        return;
      }
      const { worker } = state;
      const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
      await ask("close", [], []).catch(() => {});
      state = { kind: "closed" };
      await ended;
    },
  };
}

function withOwnBytes(batches: readonly StoredBatch[]): { batches: StoredBatch[]; buffer: ArrayBuffer } {
  const bytes = new Uint8Array(batches.reduce((sum, { body }) => sum + body.byteLength, 0));
  let at = 0;
  const copies = batches.map((batch): StoredBatch => {
    const body = bytes.subarray(at, at + batch.body.byteLength);
    body.set(batch.body);
    at += body.byteLength;
    return { ...batch, body };
  });
  return { batches: copies, buffer: bytes.buffer };
}

function asError({ code, message }: Failure): Error {
  if (code === "storage_unavailable") return new StorageUnavailable(message ?? "");
  return code === undefined ? new Error(message) : new StoreError(code, message);
}
