import crypto from "node:crypto";
import type { Stats } from "node:fs";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import timersPromises from "node:timers/promises";
import type { Random } from "./random.js";

/**
 * Makes this process repeatable. The product takes time and chance from its `Clock`. Four things it takes from Node.js itself, and they
 * are replaced here: random ids and nonces, turns of the event loop, the measured load of the event loop, and the data folder. Turns are
 * counted, so that the world knows when nothing is left to run.
 */
export interface EventLoop {
  /** Runs the event loop until no task of it is left. Timers of the simulated clocks do not count. */
  settle(): Promise<void>;
  restore(): void;
}

/** The data folder of the collector. It exists in this process only, and is empty. */
export const DATA_FOLDER = "/simulated/collector";

/** Turns after which a run is stuck in a loop that schedules itself. */
const MOST_TURNS = 20_000;

export function takeOverEventLoop(random: Random): EventLoop {
  const original = {
    setImmediate: globalThis.setImmediate,
    promisedImmediate: timersPromises.setImmediate,
    randomBytes: crypto.randomBytes,
    randomUUID: crypto.randomUUID,
    utilization: performance.eventLoopUtilization,
  };
  let waiting = 0;
  const counted = (callback: (...args: unknown[]) => void, ...args: unknown[]): NodeJS.Immediate => {
    waiting += 1;
    return original.setImmediate(() => {
      waiting -= 1;
      callback(...args);
    });
  };
  globalThis.setImmediate = Object.assign(counted, {
    __promisify__: original.setImmediate.__promisify__,
  }) as typeof setImmediate;
  timersPromises.setImmediate = ((value?: unknown) =>
    new Promise<unknown>((resolve) => counted(() => resolve(value)))) as typeof timersPromises.setImmediate;
  crypto.randomBytes = ((size: number) => Buffer.from(random.bytes(size))) as typeof crypto.randomBytes;
  crypto.randomUUID = (() => uuid(random)) as typeof crypto.randomUUID;
  performance.eventLoopUtilization = () => ({ idle: 0, active: 0, utilization: 0 });
  const restoreFiles = simulateDataFolder();
  syncBuiltinESMExports();

  const turn = (): Promise<void> => new Promise((resolve) => original.setImmediate(resolve));
  const settle = async (): Promise<void> => {
    let turns = 0;
    do {
      await turn();
      turns += 1;
      if (turns > MOST_TURNS) throw new Error(`The event loop did not settle within ${MOST_TURNS} turns`);
    } while (waiting > 0);
  };
  return {
    settle,
    restore() {
      globalThis.setImmediate = original.setImmediate;
      timersPromises.setImmediate = original.promisedImmediate;
      crypto.randomBytes = original.randomBytes;
      crypto.randomUUID = original.randomUUID;
      performance.eventLoopUtilization = original.utilization;
      restoreFiles();
      syncBuiltinESMExports();
    },
  };
}

/** Answers for the data folder, at once. All other paths go to the real file system. Returns a function that ends it. */
function simulateDataFolder(): () => void {
  const { mkdir, access, stat, readdir } = files;
  const simulated = <Call extends (...args: never[]) => Promise<unknown>>(
    call: Call,
    answer: unknown,
  ): Call =>
    ((...args: Parameters<Call>) =>
      String(args[0]) === DATA_FOLDER ? Promise.resolve(answer) : call(...args)) as Call;
  files.mkdir = simulated(mkdir, undefined);
  files.access = simulated(access, undefined);
  files.stat = simulated(stat, { isDirectory: () => true } satisfies Partial<Stats>);
  files.readdir = simulated(readdir, []);
  return () => Object.assign(files, { mkdir, access, stat, readdir });
}

function uuid(random: Random): `${string}-${string}-${string}-${string}-${string}` {
  const hex = Buffer.from(random.bytes(16)).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}
