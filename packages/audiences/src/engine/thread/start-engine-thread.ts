import type { Worker } from "node:worker_threads";
import { parseJson, type SuppressedId } from "@sluice/event-log";
import { type MethodName, startThread, type ThreadRoom } from "@sluice/resilience/node";
import { AudienceEngine } from "../engine.js";
import type { Engine } from "../runner/audiences.js";
import type { Logger, Metrics } from "../runner/telemetry.js";
import {
  ANSWERED_IN_JSON,
  BATCHES_AT,
  type EngineThreadData,
  type EngineThreadOptions,
  UNANSWERED,
} from "./calls.js";
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
  const methods = Object.getOwnPropertyNames(AudienceEngine.prototype)
    .filter((name) => name !== "constructor")
    .map((name) => [name, callTo(thread, name as MethodName<AudienceEngine>)] as const);
  const calls = Object.fromEntries(methods) as unknown as Engine;
  return {
    ...calls,
    onEmptied(listener) {
      onEmptied = listener;
    },
    suppress(ids) {
      settings.suppress(ids);
      calls.suppress(ids);
    },
    allowJoins(policies) {
      settings.allowJoins(policies);
      calls.allowJoins(policies);
    },
    close: () => thread.close(),
  };
}

type Called = (...args: readonly unknown[]) => unknown;

/** Calls a method of the engine in its thread. */
function callTo(thread: EngineThread, method: MethodName<AudienceEngine>): Called {
  const place = BATCHES_AT.get(method);
  if (place !== undefined) return (...args) => thread.callWithBatches(method, args, place);
  if (UNANSWERED.has(method)) return (...args) => void thread.call(method, args).catch(() => {});
  if (!ANSWERED_IN_JSON.has(method)) return (...args) => thread.call(method, args);
  return async (...args) => {
    const json = (await thread.call(method, args)) as string | undefined;
    return json === undefined ? undefined : parseJson(json);
  };
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
