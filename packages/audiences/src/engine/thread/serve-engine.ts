import type { MessagePort } from "node:worker_threads";
import { StoreError } from "@sluice/event-log";
import type { AudienceEngine } from "../engine.js";
import { ANSWERED_IN_JSON, type Answer, type Call, type Failure } from "./calls.js";

export interface ServingOptions {
  /** Called when a call fails with an error that has no code, before it is answered. Default: nothing. */
  readonly onUnexpected?: () => Promise<unknown>;
}

/** Answers the calls that come over `port`, until the engine is closed. */
export function serveEngine(engine: AudienceEngine, port: MessagePort, options: ServingOptions = {}): void {
  port.on("message", async (call: Call) => {
    port.postMessage(await answer(engine, call, options));
    if (call.method === "close") port.close();
  });
}

async function answer(
  engine: AudienceEngine,
  { id, method, args }: Call,
  { onUnexpected }: ServingOptions,
): Promise<Answer> {
  try {
    const call = engine[method] as (...args: readonly unknown[]) => unknown;
    const result = await call.apply(engine, [...args]);
    return result !== undefined && ANSWERED_IN_JSON.has(method)
      ? { id, json: JSON.stringify(result) }
      : { id, result };
  } catch (error) {
    if (!(error instanceof StoreError)) await onUnexpected?.().catch(() => {});
    return { id, error: failureOf(error) };
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof StoreError)
    return { code: error.code, ...(error.detail === undefined ? {} : { message: error.detail }) };
  return { message: error instanceof Error ? error.message : String(error) };
}
