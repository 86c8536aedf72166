import type { Worker } from "node:worker_threads";
import { parseJson, type SuppressedId } from "@sluice/event-log";
import { type MethodName, startThread, type ThreadRoom } from "@sluice/resilience/node";
import type { AudienceEngine } from "../engine.js";
import type { Engine } from "../runner/audiences.js";
import type { Logger, Metrics } from "../runner/telemetry.js";
import type { EngineThreadData, EngineThreadOptions } from "./calls.js";
import { EngineThread } from "./engine-thread.js";

/** Little of a unit of work stays in memory; the cache of profiles is bounded. */
const ROOM: ThreadRoom = { youngMb: 24, oldMb: 512 };

export interface StartWorkerOptions {
  /** Memory that the thread may use. Default: 24 MB for short-lived objects, 512 MB for all others. */
  readonly room?: ThreadRoom;
  /** The file that the thread runs. Default: `worker.ts` or its build. */
  readonly entry?: URL;
}

export function startWorker(data: EngineThreadData, { room = ROOM, entry }: StartWorkerOptions = {}): Worker {
  const isSource = import.meta.url.endsWith(".ts");
  const own = new URL(isSource ? "./worker.ts" : "./audience-worker.js", import.meta.url);
  return startThread(entry ?? own, { name: "sluice-audiences", room, workerData: data });
}

export interface EngineThreadParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The thread is not started before this resolves, and calls wait for it. Default: the first call starts it. */
  readonly mayStart?: Promise<void>;
  /** Default: a thread of this process. */
  readonly startThread?: (data: EngineThreadData) => Worker;
}

/** The engine in a thread of its own. The first call starts the thread; a thread that dies is started again by the next call. */
export function startEngineThread(options: EngineThreadOptions, parts: EngineThreadParts): Engine {
  const settings = new ThreadSettings();
  let onEmptied = (): void => {};
  const thread = supervisedThread(
    () => ({ ...options, ...settings.data }),
    () => onEmptied(),
    parts,
  );
  const { call, send, callInJson, callWithBatches } = callsTo(thread);
  return {
    onEmptied(listener) {
      onEmptied = listener;
    },
    suppress(ids) {
      settings.suppress(ids);
      send("suppress")(ids);
    },
    allowJoins(policies) {
      settings.allowJoins(policies);
      send("allowJoins")(policies);
    },
    define: call("define"),
    consume: callWithBatches("consume", 0),
    tick: call("tick"),
    readHistory: callWithBatches("readHistory", 0),
    work: call("work"),
    pendingMessages: call("pendingMessages"),
    markPublished: send("markPublished"),
    savePublished: call("savePublished"),
    stats: call("stats"),
    members: call("members"),
    values: callInJson("values"),
    why: callInJson("why"),
    whyValue: callInJson("whyValue"),
    profile: callInJson("profile"),
    search: callInJson("search"),
    refusedJoins: call("refusedJoins"),
    setAside: call("setAside"),
    previewBegin: call("previewBegin"),
    previewHistory: callWithBatches("previewHistory", 1),
    previewScan: callInJson("previewScan"),
    previewEnd: send("previewEnd"),
    identitiesOf: call("identitiesOf"),
    forget: call("forget"),
    forgetSome: call("forgetSome"),
    sync: call("sync"),
    compact: call("compact"),
    beginSnapshot: call("beginSnapshot"),
    readSnapshot: call("readSnapshot"),
    endSnapshot: call("endSnapshot"),
    close: () => thread.close(),
  };
}

/** The ways to call a method of the engine. */
function callsTo(thread: EngineThread) {
  const call =
    <Name extends MethodName<AudienceEngine>>(name: Name) =>
    (...args: Parameters<Engine[Name]>) =>
      thread.call(name, args) as ReturnType<Engine[Name]>;
  /** A method whose result nobody waits for. */
  const send =
    <Name extends MethodName<AudienceEngine>>(name: Name) =>
    (...args: Parameters<Engine[Name]>): void =>
      void thread.call(name, args).catch(() => {});
  const callInJson =
    <Name extends MethodName<AudienceEngine>>(name: Name) =>
    async (...args: Parameters<Engine[Name]>): Promise<Awaited<ReturnType<Engine[Name]>>> => {
      const json = (await thread.call(name, args)) as string | undefined;
      return (json === undefined ? undefined : parseJson(json)) as Awaited<ReturnType<Engine[Name]>>;
    };
  /** `place`: which argument is a list of batches. */
  const callWithBatches =
    <Name extends MethodName<AudienceEngine>>(name: Name, place: number) =>
    (...args: Parameters<Engine[Name]>) =>
      thread.callWithBatches(name, args, place) as ReturnType<Engine[Name]>;
  return { call, send, callInJson, callWithBatches };
}

/** The settings that the engine does not store: the next thread is started with them. */
class ThreadSettings {
  readonly #suppressed = new Map<string, SuppressedId>();
  #digestKey: Uint8Array | undefined;
  #policies: Parameters<Engine["allowJoins"]>[0] | undefined;

  suppress({ key, ids }: Parameters<Engine["suppress"]>[0]): void {
    this.#digestKey = key;
    for (const one of ids) {
      if (one.spans.length > 0) this.#suppressed.set(one.digest, one);
      else this.#suppressed.delete(one.digest);
    }
  }

  allowJoins(policies: Parameters<Engine["allowJoins"]>[0]): void {
    this.#policies = policies;
  }

  get data(): Pick<EngineThreadData, "suppressed" | "joins"> {
    return {
      ...(this.#digestKey === undefined
        ? {}
        : { suppressed: [{ key: this.#digestKey, ids: [...this.#suppressed.values()] }] }),
      ...(this.#policies === undefined ? {} : { joins: [this.#policies] }),
    };
  }
}

/** A thread whose deaths and damaged files are logged and counted. */
function supervisedThread(
  dataOf: () => EngineThreadData,
  onEmptied: () => void,
  { logger, metrics, mayStart, startThread: start = startWorker }: EngineThreadParts,
): EngineThread {
  const deaths = metrics.counter(
    "sluice_audience_engine_deaths_total",
    "How often the thread of audiences ended by itself; it is started again",
  );
  return new EngineThread({
    mayStart,
    start: () => start(dataOf()),
    onDamage({ setAside }) {
      logger.warn(
        "profiles.db was damaged and is being rebuilt from the log; destinations receive all memberships again, and profile data from messages that retention has dropped is lost",
        { damagedFile: setAside },
      );
      onEmptied();
    },
    onDeath(cause) {
      deaths.inc();
      logger.error("the thread of audiences ended; it is started again", { error: cause });
    },
  });
}
