import { parentPort, workerData } from "node:worker_threads";
import { CollectorError } from "../../errors.js";
import { openSqliteProfileStore } from "../../store/sqlite/profiles.js";
import { AudienceEngine } from "../engine.js";
import { ANSWERED_IN_JSON, type Answer, type Call, type EngineThreadOptions, type Failure } from "./calls.js";

/** The thread of audiences: the engine and its SQLite file, away from the thread that answers requests. */
if (parentPort === null) throw new Error("this file is a worker's");
const port = parentPort;
const { directory, ...options } = workerData as EngineThreadOptions;
const engine = new AudienceEngine(openSqliteProfileStore({ directory }), options);

async function answer({ id, method, args }: Call): Promise<Answer> {
  try {
    const call = engine[method] as (...args: readonly unknown[]) => unknown;
    const result = await call.apply(engine, [...args]);
    return result !== undefined && ANSWERED_IN_JSON.has(method)
      ? { id, json: JSON.stringify(result) }
      : { id, result };
  } catch (error) {
    return { id, error: failureOf(error) };
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof CollectorError)
    return { code: error.code, ...(error.detail === undefined ? {} : { message: error.detail }) };
  return { message: error instanceof Error ? error.message : String(error) };
}

port.on("message", async (call: Call) => {
  port.postMessage(await answer(call));
  if (call.method === "close") port.close();
});
